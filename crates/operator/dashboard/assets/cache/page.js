// The page of a web cache: its tables are made by the cache, its charts here.
"use strict";

const charts = new Charts("history.json", (series) => [["", series]], [
  { id: "answered", unit: bits, series: [
    ["from here", COLORS.green, rate("local_bytes", 8), true], ["from another router", COLORS.blue, rate("remote_bytes", 8), true],
    ["from origins", COLORS.orange, rate("origin_bytes", 8), true]] },
  { id: "requests", unit: often, series: [["requests", COLORS.violet, rate("requests"), true]] },
]);

charts.run("cache", () => charts.draw());
