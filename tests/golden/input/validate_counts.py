"""Checks that the counts of `trunkline validate --json` (standard input) add up; prints what was counted."""
import collections
import json
import sys

answer = json.load(sys.stdin)
of_table = collections.defaultdict(lambda: collections.Counter())
for row in answer["rows"]:
    counts = of_table[row["file"], row["table_id"]]
    counts["predicted" if row["eligible"] else "beside"] += 1
    counts["judged"] += row["judged"]
    assert row["low_s"] <= row["predicted_s"] <= row["high_s"], row
    assert abs(row["predicted_s"] / row["measured_s"] - 1 - row["error"]) < 1e-9, row
for row in answer["skipped"]:
    of_table[row["file"], row["table_id"]]["skipped" if row["eligible"] else "left_out"] += 1
    assert row["reason"], row
kinds = collections.Counter()
for table in answer["tables"]:
    kinds[table["kind"]] += 1
    counts = of_table[table["file"], table["table_id"]]
    for key in ("predicted", "skipped", "beside", "left_out", "judged"):
        assert table[key] == counts[key], (table, key, counts[key])
    assert table["eligible"] == table["predicted"] + table["skipped"], table
    assert table["rows"] == table["eligible"] + table["beside"] + table["left_out"], table
    assert (table["median_abs_error"] is None) == (table["judged"] == 0), table
for kind in answer["kinds"]:
    for key in ("rows", "eligible", "predicted", "skipped", "beside", "left_out", "judged"):
        assert kind[key] == sum(t[key] for t in answer["tables"] if t["kind"] == kind["kind"]), (kind, key)
assert sum(group["judged"] for group in answer["beside"]) == sum(t["beside"] for t in answer["tables"] if t["kind"] == "training")
print(", ".join(f"{kinds[k['kind']]} {k['kind']}" for k in answer["kinds"]), "tables")
print("rows", sum(f["rows"] for f in answer["files"]), "=", len(answer["rows"]) + len(answer["skipped"]))
