# Reads {name: cloud-config} and prints {name: what cloud-init's schema finds wrong}.
import json
import logging
import sys

from cloudinit import safeyaml
from cloudinit.config import schema

logging.disable(logging.CRITICAL)
known = schema.get_schema()
wrong = {}
for name, text in json.load(sys.stdin).items():
    try:
        schema.validate_cloudconfig_schema(safeyaml.load(text), known, strict=True, log_deprecations=False)
    except schema.SchemaValidationError as error:
        wrong[name] = str(error)
print(json.dumps(wrong))
