# Reads {name: user_data in base64} and prints {name: merged cloud-config with its scripts, as JSON}, as
# cloud-init processes user data.
import base64
import json
import os
import sys
import tempfile

from cloudinit import handlers, helpers, safeyaml, user_data
from cloudinit.handlers.cloud_config import CloudConfigPartHandler
from cloudinit.handlers.shell_script import ShellScriptPartHandler
from cloudinit.settings import FREQUENCIES, PER_INSTANCE

merged = {}
for name, data in json.load(sys.stdin).items():
    with tempfile.TemporaryDirectory() as folder:
        paths = helpers.Paths({"cloud_dir": folder, "run_dir": folder})
        os.makedirs(os.path.join(folder, "instance", "scripts"))
        paths.get_ipath = lambda part=None: os.path.join(folder, "instance", paths.lookups.get(part, ""))
        paths.get_ipath_cur = paths.get_ipath
        message = user_data.UserDataProcessor(paths).process(base64.b64decode(data))
        known = helpers.ContentHandlers()
        for handler in (CloudConfigPartHandler(paths), ShellScriptPartHandler(paths)):
            handler.script_dir = os.path.join(folder, "instance", "scripts")
            known.register(handler)
            handlers.call_begin(handler, None, PER_INSTANCE)
        handlers.walk(message, handlers.walker_callback, data={
            "handlers": known, "handlerdir": folder, "data": None, "frequency": PER_INSTANCE, "handlercount": 0, "excluded": []})
        for handler in {id(h): h for h in known.registered.values()}.values() if hasattr(known, "registered") else set(known.values()):
            handlers.call_end(handler, None, PER_INSTANCE)
        with open(paths.get_ipath("cloud_config"), encoding="utf-8") as text:
            config = safeyaml.load(text.read())
        scripts = os.path.join(folder, "instance", "scripts")
        config["scripts"] = [open(os.path.join(scripts, file), encoding="utf-8").read() for file in sorted(os.listdir(scripts))]
        merged[name] = json.dumps(config)
print(json.dumps(merged))
