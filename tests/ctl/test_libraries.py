"""What benchctl loads when it starts, and libcurl, which it loads when a cluster is asked."""
import pathlib
import re
import shutil
import subprocess
import sys

import cli

sys.path.insert(0, str(cli.ROOT / "packaging"))
import linked  # noqa: E402  (its folder is known only now)


class Libraries(cli.CliCase):
    def needed(self, program):
        done = subprocess.run(["readelf", "--dynamic", program], capture_output=True, text=True, check=True)
        return re.findall(r"\(NEEDED\).*\[(.*?)\]", done.stdout)

    def test_libcurl_is_loaded_later(self):
        """The packages name it by hand, the archive and the images take it from the program's note."""
        self.assertNotIn("libcurl.so.4", self.needed(cli.BENCHCTL))
        self.assertEqual([pathlib.Path(path).name for path in linked.loaded_libraries(cli.BENCHCTL)], ["libcurl.so.4"])
        self.assertIn("libnghttp2.so.14", {pathlib.Path(path).name for path in linked.libraries(cli.BENCHCTL)})
        control = (cli.ROOT / "debian" / "control").read_text(encoding="utf-8")
        for package in ("benchctl", "benchd"):
            self.assertRegex(control, rf"\nPackage: {package}\nArchitecture: any\nDepends: libcurl4 \(>= 7\.85\), ")

    def test_another_library_of_that_name(self):
        """Local verbs do not notice; one that asks a cluster says what is wrong."""
        other = next(path for path in linked.libraries(cli.BENCHCTL) if "libyaml" in path)
        shutil.copy(other, self.folder / "libcurl.so.4")
        self.env["LD_LIBRARY_PATH"] = str(self.folder)
        config = self.folder / "kubeconfig"
        config.write_text('{"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"x","context":{"cluster":"c"}}],'
                          '"current-context":"x"}', encoding="utf-8")
        self.assertTrue(self.ctl("version").stdout.startswith("benchctl "))
        done = self.ctl("get", "runs", "--kubeconfig", str(config), code=9)
        self.assertIn("libcurl.so.4 has no function curl_easy_cleanup; 7.85 or newer is needed", done.stderr)


if __name__ == "__main__":
    cli.main()
