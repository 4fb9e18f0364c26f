// Builds the page: node web/build.mjs OUT. What the controller serves is then in OUT, and beside OUT what the program is
// made of: page.bin (every file as gzip, one behind the other), page_files.c (which is where), report.js and report.css
// (what an HTML report carries), and packages.json, whose code is in it.
//
//   OUT/index.html  OUT/assets/app.js  app.css  stream.js  icon.svg  NOTICE.txt  OUT/speedscope/...
//
// --watch builds the page's script and style again at each change, and neither packs nor weighs.
import { build, context } from 'esbuild'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const web = dirname(fileURLToPath(import.meta.url))
const WEIGHT_CEILING = 150 * 1000 // bytes, compressed, of all that is not speedscope

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
}

const common = {
  absWorkingDir: web,
  bundle: true,
  minify: true,
  target: 'es2022',
  legalComments: 'none', // NOTICE.txt has the licences whole
  logLevel: 'warning',
  metafile: true,
}

const pageOptions = (out) => ({
  ...common,
  entryPoints: [
    { in: join(web, 'src/main.tsx'), out: 'app' },
    { in: join(web, 'src/stream_worker.ts'), out: 'stream' },
  ],
  outdir: join(out, 'assets'),
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'utf8',
})

// One script and one style, which stand within a page of any address, or of none.
const reportOptions = (folder) => ({
  ...common,
  stdin: { contents: "import './page.css'; import './flame.css'; import './page'", resolveDir: join(web, 'flame'), loader: 'ts' },
  outfile: join(folder, 'report.js'),
  format: 'iife',
})

// The packages whose code is in what esbuild wrote.
function bundledPackages(metafile) {
  const names = new Set()
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)
      if (found && bytesInOutput > 0) names.add(found[1])
    }
  }
  return [...names].sort()
}

const rule = `\n${'-'.repeat(80)}\n\n`

// Whose work is in the page, and on which terms; speedscope's font has its own.
function notice(packages) {
  const parts = packages.map((name) => {
    const folder = join(web, 'node_modules', name)
    const { version, homepage } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const licence = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
    if (!licence) throw new Error(`${name} has no licence file: do not ship it`)
    return `${name} ${version}${homepage ? `, ${homepage}` : ''}\n\n${readFileSync(join(folder, licence), 'utf8').trim()}\n`
  })
  parts.push(`Source Code Pro, with speedscope\n\n${readFileSync(join(web, SPEEDSCOPE, 'source-code-pro.LICENSE.md'), 'utf8').trim()}\n`)
  return `Sonde's page contains the work of others, under these terms.\n\n${parts.join(rule)}`
}

// speedscope as it is released, without its sample profile, what only its own site needs, and its reader of Java's
// recordings. A library in it tries eval for modules of Node and does without; the policy of the page would report that.
const SPEEDSCOPE = 'node_modules/speedscope/dist/release'
const SPEEDSCOPE_LEFT_OUT = /^perf-.*\.txt$|^release\.txt$|^file-format-schema\.json$|^favicon-.*\.js$|\.wasm$|^source-code-pro\.LICENSE\.md$/
const SPEEDSCOPE_EVAL = 'eval("quire".replace(/^/,"re"))(moduleName)'

function copySpeedscope(out) {
  const from = join(web, SPEEDSCOPE)
  mkdirSync(out, { recursive: true })
  for (const name of readdirSync(from)) {
    if (SPEEDSCOPE_LEFT_OUT.test(name)) continue
    if (!/^speedscope-.*\.js$/.test(name)) {
      copyFileSync(join(from, name), join(out, name))
      continue
    }
    const script = readFileSync(join(from, name), 'utf8')
    if (!script.includes(SPEEDSCOPE_EVAL)) throw new Error('speedscope has changed: see SPEEDSCOPE_EVAL')
    writeFileSync(join(out, name), script.replace(SPEEDSCOPE_EVAL, 'null'))
  }
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true }).map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile()).sort()
}

// Two builds of the same text are the same bytes: gzip's header gets no time and no name.
function pack(out) {
  let offset = 0
  return filesBelow(out).map((path) => {
    const plain = readFileSync(path)
    const packed = gzipSync(plain, { level: 9 })
    packed[9] = 255 // the system it was packed on: unknown
    const name = relative(out, path)
    const type = TYPES[extname(name)]
    if (!type) throw new Error(`${name}: of which type is that? see TYPES`)
    const tag = createHash('sha256').update(plain).digest('hex').slice(0, 20)
    offset += packed.length
    return { name, type, tag, packed, offset: offset - packed.length, plainSize: plain.length }
  })
}

function writeProgramParts(folder, files) {
  const rows = files.map(({ name, type, tag, packed, offset, plainSize }) =>
    `    {"${name}", "${type}", "${tag}", ${offset}, ${packed.length}, ${plainSize}},\n`)
  writeFileSync(join(folder, 'page.bin'), Buffer.concat(files.map(({ packed }) => packed)))
  writeFileSync(join(folder, 'page_files.c'), '/* Written by web/build.mjs. */\n#include "daemon/embedded.h"\n\n' +
    `const struct sn_page_file sn_page_files[] = {\n${rows.join('')}    {NULL, NULL, NULL, 0, 0, 0},\n};\n`)
}

function weigh(files) {
  const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`
  const sum = (some) => some.reduce((all, { packed }) => all + packed.length, 0)
  const isOurs = ({ name }) => !name.startsWith('speedscope/')
  const page = sum(files.filter(isOurs))
  const parts = files.filter(({ name }) => /^assets\/.*\.(js|css)$/.test(name))
    .map((file) => `${basename(file.name)} ${kilobytes(file.packed.length)}`).join(', ')
  console.log(`page ${kilobytes(page)} compressed (${parts}), speedscope ${kilobytes(sum(files) - page)}`)
  if (page > WEIGHT_CEILING) throw new Error(`the page weighs ${kilobytes(page)} compressed, more than ${kilobytes(WEIGHT_CEILING)}`)
}

async function buildAll(out) {
  rmSync(out, { recursive: true, force: true })
  const { metafile } = await build(pageOptions(out))
  await build(reportOptions(dirname(out)))
  copyFileSync(join(web, 'index.html'), join(out, 'index.html'))
  copyFileSync(join(web, 'icon.svg'), join(out, 'assets/icon.svg'))
  copySpeedscope(join(out, 'speedscope'))
  const packages = [...bundledPackages(metafile), 'speedscope']
  writeFileSync(join(out, 'assets/NOTICE.txt'), notice(packages))
  writeFileSync(join(dirname(out), 'packages.json'), JSON.stringify(packages)) // for tools/components
  const files = pack(out)
  weigh(files)
  writeProgramParts(dirname(out), files)
}

const words = process.argv.slice(2).filter((word) => word !== '--watch')
if (words.length !== 1) {
  console.error('usage: node web/build.mjs [--watch] OUT')
  process.exit(2)
}
const out = resolve(words[0])
try {
  if (process.argv.includes('--watch')) await (await context(pageOptions(out))).watch()
  else await buildAll(out)
} catch (error) {
  console.error(`web/build.mjs: ${error.message}`)
  process.exit(1)
}
