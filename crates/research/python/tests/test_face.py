"""The Python face: descriptions, keys of content, stores, engines and sentences. `python -m unittest discover tests`."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import skipUnless

import overheard_lab as lab
from overheard_lab import _native, store, tasks
from overheard_lab.sweeps import Sweep

sys.path.append(str(Path(__file__).parent.parent / "examples"))


def kernel():
    try:
        return _native.find_kernel()
    except lab.LabError:
        return None


def call(loss=0.1, scheme=None, packets=300, name="call"):
    """A call over a lossy link, which `sim` runs in well under a second."""
    scenario = lab.Scenario(name)
    scenario.link("gateway", "station", lab.Link("1Mbit/s", 10.0, loss))
    if scheme:
        scenario.tunnel("gateway", "station", scheme)
    return scenario.constant_rate("gateway", "station", "10.77.0.2", packets=packets, every_ms=20)


class Sentences(unittest.TestCase):
    def says(self, words, action):
        with self.assertRaises(lab.LabError) as raised:
            action()
        self.assertIn(words, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))

    def test_an_unknown_program_is_named_before_anything_boots(self):
        scenario = call().program("station", ["no-such-program", "-x"], name="vpn")
        self.says("the program `no-such-program` of `vpn` is not installed", lambda: scenario.run(driver="virtual"))

    def test_two_conditions_of_readiness_are_named(self):
        self.says("has `ready` and `says`: give one", lambda: call().program("station", "true", ready=80, says="up"))

    def test_an_impossible_topology_is_named(self):
        loop = lab.Scenario("loop").link("one", "one", lab.Link())
        self.says("the link `air` has `one` at both ends", loop.check)
        wi_fi = lab.Scenario("wifi").wi_fi({"ap": (0, 0), "station": (9, 0)}, monitors=["nobody"])
        self.says("the Wi-Fi network `wifi` has no place `nobody` for a monitor", wi_fi.check)
        self.says("there is no place `nowhere`", call().command(1, "nowhere", "true").check)
        self.says("is not on a link, channel or Wi-Fi network `wire`", lambda: call().address("station", "wire"))

    def test_what_no_link_channel_or_wi_fi_joins_is_named(self):
        def served():
            return call().serve("gateway", content=lab.Text("a"))

        self.says("joins the station `nowhere`", lambda: call().tunnel("gateway", "nowhere"))
        self.says("an access point, and no station", lambda: lab.Scenario("m").wi_fi({"ap": (0, 0)}))
        self.says("nothing has the address 192.0.2.1", lambda: served().download("station", "192.0.2.1").run([1], "sim"))
        self.says("nothing serves port 99", lambda: served().download("station", "10.77.0.1", port=99).run([1], "sim"))
        self.says("has a tunnel: a second one is two `program`s", lambda: call(scheme="off").tunnel("gateway", "station"))

    def test_impossible_values_are_named_before_anything_boots(self):
        def link(*values):
            return lab.Scenario("m").link("one", "two", lab.Link(*values))

        self.says("scenario `m`: the link `air`: loss.bernoulli.probability", link("1Mbit/s", 0, 1.5).check)
        self.says("such as 0.05, or a model", lambda: link("1Mbit/s", 0, "5%"))
        self.says('such as "8Mbit/s", and not 8000000', lambda: link(8_000_000))
        self.says("scenario `call`: the link `air`", call().change(1, "air", "forward", lab.Link(loss=-0.1)).check)
        self.says("Random has at least 0 bytes", lambda: call().serve("gateway", content=lab.Random(-5)))
        self.says("the scenario's `streams[1].address`", call().constant_rate("gateway", "station", "nowhere", packets=1, every_ms=1).check)

    def test_a_misspelled_keyword_is_no_kernel_parameter(self):
        self.says("Scenario has no keyword `bound_second`", lambda: lab.Scenario("m", bound_second=5))
        self.says("place has no keyword `forward`", lambda: lab.Scenario("m").place("one", forward=True))

    def test_sweeps_that_make_no_sense_are_named(self):
        self.says("several values, such as [0.1], and not 0.1", lambda: Sweep(call, {"loss": 0.1}, [1], "sim"))
        self.says("does it end with `return`?", lambda: Sweep(lambda loss: None, {"loss": [0.1]}, [1], "sim"))
        self.says("several whole numbers, such as [1, 2]", lambda: call().run(3, "sim"))
        self.says("is to run with no seed", lambda: call().run([], "sim"))
        self.says("there is no folder /nonexistent of kept results", lambda: lab.Store("/nonexistent", there=True))

    def test_a_places_routes_come_behind_those_of_its_channel(self):
        stations = {"one": (0, 0), "two": (9, 0)}
        scenario = lab.Scenario("m").channel(stations, routes=True).place("one", routes={"10.80.0.0/24": "10.78.0.2"})
        [one, _] = scenario.describe()["scenario"]["topology"]["places"]
        self.assertEqual([route["to"] for route in one["routes"]], ["10.78.0.2/32", "10.80.0.0/24"])

    def test_what_did_not_arrive_is_told_and_makes_no_point(self):
        missed = {"ending": "failed", "intact": True, "seconds": 0.0, "bytes": 0}
        stream = {"sent": 0, "received": 0, "delay": {"median": 0.0}}
        outcome = {"scenario": "m", "seed": 1, "downloads": [missed, {**missed, "ending": "complete"}], "streams": [stream]}
        results = lab.Results([outcome])
        [nothing] = results.streams.to_pylist()
        self.assertEqual((nothing["lost_share"], nothing["delay_median"]), (None, None))
        with self.assertWarnsRegex(UserWarning, "1 of 2 downloads did not arrive whole"):
            results.warn()
        with self.assertWarnsRegex(UserWarning, "1 of 1 streams sent nothing"):
            results.warn()

    def test_a_missing_kernel_is_named_with_the_commands_that_mend_it(self):
        before = os.environ.get("OVERHEARD_LAB_KERNEL")
        os.environ["OVERHEARD_LAB_KERNEL"] = "/nonexistent/linux"
        try:
            self.says("`overheard-lab kernel --make` builds one", lambda: call().run(driver="virtual"))
            self.says("names /nonexistent/linux, which is no kernel", lambda: call().run(driver="virtual"))
        finally:
            os.environ.pop("OVERHEARD_LAB_KERNEL")
            if before:
                os.environ["OVERHEARD_LAB_KERNEL"] = before

    def test_a_seed_given_twice_is_named(self):
        self.says("seed 2 is given twice", lambda: call().run([1, 2, 2], "sim"))
        self.says("seed 2 is given twice", lambda: call().run([1, 2, 2]))
        self.says("seed 2 is given twice", lambda: Sweep(call, {}, [1, 2, 2], "sim"))
        self.says("seed 18014398509481984 is too large: the largest is 2^54 - 1", lambda: call().run([1 << 54], "sim"))

    def test_equal_cells_are_named(self):
        self.says("two cells of the grid are one scenario", lambda: Sweep(call, {"loss": [0.1, 0.1]}, [1], "sim"))

    @skipUnless(os.path.exists("/dev/full") and os.geteuid() == 0 and os.path.exists("/dev/shm"), "needs a small disk")
    def test_a_full_disk_of_a_runs_folder_is_named(self):
        import subprocess

        folder, before = tempfile.mkdtemp(), tempfile.tempdir
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
        try:
            tempfile.tempdir = folder
            full = call().serve("gateway", content=lab.Random(1_000_000))
            self.says(f"the disk of {folder} is full: free space, or name another", lambda: full.run(driver="virtual", progress=False))
        finally:
            tempfile.tempdir = before
            subprocess.run(["umount", folder], check=True)
            os.rmdir(folder)

    @skipUnless(os.path.exists("/dev/full") and os.geteuid() == 0 and os.path.exists("/dev/shm"), "needs a small disk")
    def test_a_full_disk_is_named(self):
        import subprocess

        folder = tempfile.mkdtemp()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
        try:
            kept = lab.Store(folder)
            kept.put("ab" * 32, {"a": 1})
            self.says("is full: free space and repeat; the 1 kept results stay valid", lambda: kept.put("cd" * 32, {"a": "x" * 99999}))
        finally:
            subprocess.run(["umount", folder], check=True)
            os.rmdir(folder)

    def test_a_worker_of_another_version_is_refused(self):
        task = tasks.task(call().describe(), 1, "sim")
        self.says("has version", lambda: tasks.run_task({**task, "identity": "another"}))
        self.says("install the same kernel", lambda: tasks.run_task({**task, "kernel": "0" * 64})) if kernel() else None

    def test_an_unknown_driver_engine_and_scheme_are_named(self):
        self.says("there are sim, virtual and lab", lambda: call().run(driver="kvm"))
        self.says("there are local, dask, ray", lambda: lab.sweep(call, {}, [1], "slurm", driver="sim", store=tempfile.mkdtemp()))
        self.says("no scheme is called", lambda: call(scheme="best"))
        self.says("has one link", lambda: call().cable("a", "b").run(driver="sim"))

    @skipUnless(kernel(), "no virtual-time kernel")
    def test_a_program_that_never_gets_ready_is_named_with_its_last_words(self):
        scenario = call().program("station", "echo waiting for Godot; sleep 1000", name="slow", ready=4242, within_seconds=3)
        self.says("the daemon `slow` did not become ready in 3 seconds; it said: waiting for Godot", lambda: scenario.run(progress=False))


class SameRows(unittest.TestCase):
    """One scenario is one text on this face and in the experiments, and one run however it is started."""

    def test_the_examples_scenarios_are_the_experiments(self):
        import same_rows

        for name in ("links", "figure_6", "section_7"):
            with self.subTest(name):
                missing, theirs = same_rows.missing(name)
                self.assertEqual(missing, [], f"not among {theirs[:1]}")

    @skipUnless(kernel(), "no virtual-time kernel")
    def test_rows_of_a_tunnel_are_the_experiments(self):
        import links
        import same_rows

        scenario = links.scenario("adaptive", "cubic", 10, 100)
        said = same_rows.experiment(links, "virtual", "--only", scenario.name, "--json")
        row = links.row(scenario, "virtual")
        theirs = [it["value"] for it in json.loads(said) if it["series"] == "seconds, 100 ms: adaptive, cubic"]
        self.assertEqual([row], theirs)

    @skipUnless(kernel(), "no virtual-time kernel")
    def test_a_seed_is_one_run_whatever_ran_before_it(self):
        scenario = lab.Scenario("download").link("gateway", "station", lab.Link("8Mbit/s", 10.0, 0.02))
        scenario.tunnel("gateway", "station").serve("gateway", content=lab.Random(200_000))
        scenario.download("station", "10.80.0.1", at=5.0)
        state = Path("/var/lib/overheard")
        before = state.exists()
        together = scenario.run([1, 2, 3], progress=False).outcomes
        alone = [scenario.run([seed], progress=False).outcomes[0] for seed in (3, 2, 1)]
        self.assertEqual(together, alone[::-1])
        self.assertEqual(state.exists(), before, "the machine's state of nodes is untouched")


class Guide(unittest.TestCase):
    """The guide's tables are those of the kept rows."""

    def has(self, name, table):
        guide = Path(__file__).parents[4] / "docs/python.md"
        if not guide.is_file():
            self.skipTest("no guide beside the package")
        _, _, rest = guide.read_text().partition(f"<!-- {name}: begin -->\n")
        self.assertEqual(rest.partition(f"<!-- {name}: end -->")[0], table)

    def test_other_programs(self):
        import peers

        self.has("peers", peers.table())

    def test_wi_fi(self):
        import wi_fi

        self.has("wi_fi", wi_fi.kept_table())

    def test_engines(self):
        import overhead

        self.has("engines", overhead.table())


class Rows(unittest.TestCase):
    def test_a_seed_gives_equal_rows_and_another_seed_others(self):
        one, same, other = (call().run([seed], "sim").outcomes[0]["sim"] for seed in (1, 1, 2))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_tables_are_arrow_and_have_the_cell(self):
        with tempfile.TemporaryDirectory() as folder:
            results = lab.sweep(call, {"loss": [0.0, 0.5]}, [1, 2], driver="sim", store=folder, progress=False)
        table = results.sim
        self.assertEqual(table.column("loss").to_pylist(), [0.0, 0.0, 0.5, 0.5])
        self.assertEqual(table.column("seed").to_pylist(), [1, 2, 1, 2])
        lost = table.column("perceived_loss").to_pylist()
        self.assertEqual(lost[:2], [0.0, 0.0])
        self.assertTrue(all(0.3 < it < 0.7 for it in lost[2:]), lost)

    def test_columns_of_version_1(self):
        """A change of these columns raises ROWS_SCHEMA."""
        self.assertEqual(lab.ROWS_SCHEMA, 1)
        outcome = {
            "scenario": "s", "seed": 1,
            "downloads": [dict(ending="complete", bytes=1, whole_bytes=1, intact=True, seconds=1.0, first_byte_seconds=0.1, started_seconds=0.0, complaint="")],
        }
        columns = lab.Results([outcome]).downloads.column_names
        self.assertEqual(columns[:4], ["scenario", "seed", "download", "whole"])
        self.assertEqual(set(columns[4:]), set(outcome["downloads"][0]))

    @skipUnless(kernel(), "no virtual-time kernel")
    def test_a_download_by_real_tcp_is_repeatable_in_virtual_time(self):
        scenario = lab.Scenario("download").link("gateway", "station", lab.Link("8Mbit/s", 10.0, 0.01))
        scenario.serve("gateway", content=lab.Random(200_000)).download("station", "10.77.0.1")
        one, other = (scenario.run([1], progress=False).outcomes for _ in range(2))
        self.assertEqual(one, other)
        self.assertTrue(lab.Results(one).downloads.column("whole").to_pylist()[0])


class Sweeps(unittest.TestCase):
    GRID = {"loss": [0.0, 0.1, 0.2], "scheme": ["off", "adaptive"]}

    def test_an_interrupted_sweep_goes_on_and_its_rows_are_those_of_another(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            sweep = Sweep(call, self.GRID, [1, 2], "sim")
            whole, parts = lab.Store(one), lab.Store(other)
            self.assertEqual(sweep.run(whole, progress=False), 12)
            self.assertEqual(sweep.run(whole, progress=False), 0)
            self.assertEqual(sum(sweep.run(parts, shard=(part, 5), progress=False) for part in range(1, 5)), 10)
            with self.assertRaisesRegex(lab.LabError, "2 of 12 runs are not in"):
                sweep.rows(parts)
            self.assertEqual(sweep.run(parts, workers=1, progress=False), 2)
            self.assertEqual(sweep.digest(whole), sweep.digest(parts))

    def test_stores_merge_and_equal_keys_have_equal_outcomes(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            ours, theirs = lab.Store(one), lab.Store(other)
            ours.put("aa", {"x": 1})
            theirs.put("aa", {"x": 1})
            theirs.put("bb", {"x": 2})
            self.assertEqual(ours.merge(theirs), 1)
            theirs.put("aa", {"x": 3})
            with self.assertRaisesRegex(lab.LabError, "differ"):
                ours.merge(theirs)

    def test_every_part_of_a_task_is_in_its_key(self):
        task = tasks.task(call().describe(), 1, "sim")
        keys = {store.key(task)}
        for part, value in [("seed", 2), ("driver", "lab"), ("kernel", "k"), ("identity", "i")]:
            keys.add(store.key({**task, part: value}))
        keys.add(store.key(tasks.task(call(0.2).describe(), 1, "sim")))
        self.assertEqual(len(keys), 6)

    def test_half_a_result_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = lab.Store(folder)
            kept.put("aa", {"x": 1})
            kept._path("aa").write_text('{"x"')
            self.assertIsNone(kept.get("aa"))

    def test_the_command_line_runs_parts_and_merges_them(self):
        from overheard_lab.__main__ import main

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "sweep.py")
            file.write_text(
                "import overheard_lab as lab\n"
                "def build(loss):\n"
                "    scenario = lab.Scenario('call').link('gateway', 'station', lab.Link('1Mbit/s', 10.0, loss))\n"
                "    return scenario.constant_rate('gateway', 'station', '10.77.0.2', packets=50, every_ms=20)\n"
                "SWEEP = lab.Sweep(build, {'loss': [0.0, 0.1, 0.2]}, [1], 'sim')\n"
            )
            for part in ("1/2", "2/2"):
                self.assertEqual(main(["sweep", str(file), "--shard", part, "--store", f"{folder}/{part[0]}"]), 0)
            self.assertEqual(main(["merge", f"{folder}/all", f"{folder}/1", f"{folder}/2"]), 0)
            self.assertEqual(len(lab.Store(f"{folder}/all")), 3)
            self.assertEqual(main(["sweep", f"{folder}/none.py"]), 2)


if __name__ == "__main__":
    unittest.main()
