// node openapi_check.mjs FOLDER-OF-VALIDATORS DOCUMENT BODIES: says whether the document is one, by a foreign validator, and
// which of the bodies (a list of {where, schema, body}) do not match their schemas. Ends with 1 if anything is wrong.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, documentFile, bodiesFile] = process.argv.slice(2);
const require = createRequire(folder + "/");
const { Validator } = await import(pathToFileURL(folder + "/node_modules/@seriousme/openapi-schema-validator/index.js"));
const document = JSON.parse(readFileSync(documentFile, "utf8"));
const wrong = [];

const verdict = await new Validator().validate(structuredClone(document));
if (!verdict.valid) wrong.push("the document: " + JSON.stringify(verdict.errors).slice(0, 4000));

const Ajv = require("ajv/dist/2020").default;
const ajv = new Ajv({ strict: false, allErrors: true });
require("ajv-formats").default(ajv);
ajv.addSchema({ $id: "api", components: document.components }, "api");
for (const { where, schema, body } of JSON.parse(readFileSync(bodiesFile, "utf8"))) {
  const matches = ajv.getSchema(`api#/components/schemas/${schema}`);
  if (!matches) wrong.push(`${where}: there is no schema ${schema}`);
  else if (!matches(body)) wrong.push(`${where}: not a ${schema}: ${ajv.errorsText(matches.errors).slice(0, 600)}`);
}
for (const line of wrong) console.log(line);
process.exit(wrong.length ? 1 : 0);
