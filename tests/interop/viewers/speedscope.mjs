// Reads files with speedscope's own importer and prints what it understood: for each file a line of JSON, an
// array of profiles with name, unit and [[names from the outermost in], weight] for every stack.
//
//   node speedscope.mjs FOLDER FILE...     FOLDER: dist/release of the npm package
//
// The package ships the web page only. Its script is run here with a document that agrees to everything; all that
// is wanted of it is the function that turns text into profiles, which is handed out before the page is drawn.
import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

const [folder, ...files] = process.argv.slice(2)

function loadPage() {
  const script = fs.readdirSync(folder).find(name => /^speedscope-.*\.js$/.test(name))
  const code = fs.readFileSync(path.join(folder, script), 'utf8')
  const importer = /async function (\w+)\(\w+,\w+\)\{return\(await \w+\)\.importProfileGroupFromText/.exec(code)[1]
  const anything = new Proxy(function () {}, {
    get: (_, key) => (key === 'then' ? undefined : key === Symbol.toPrimitive ? () => '' : anything),
    apply: () => anything,
    construct: () => anything,
    set: () => true,
  })
  const page = vm.createContext({
    document: anything, window: anything, self: anything, localStorage: anything, matchMedia: anything,
    navigator: {userAgent: '', platform: ''}, location: {hash: '', protocol: 'file:'}, requestAnimationFrame: () => 0,
    console: {...console, log() {}}, setTimeout, clearTimeout, performance, TextDecoder, TextEncoder, URL, atob,
  })
  try {
    vm.runInContext(code.replace('(()=>{', `(()=>{globalThis.importText=(name,text)=>${importer}(name,text);`), page)
  } catch (error) {
    if (!(error instanceof vm.runInContext('RangeError', page))) // drawing into nothing never ends; it is not wanted
      throw error
  }
  return page.importText
}

function stacksOf(profile) {
  const stacks = []
  const open = [[profile.getAppendOrderCalltreeRoot(), []]]
  while (open.length) {
    const [node, names] = open.pop()
    if (node.getSelfWeight() > 0)
      stacks.push([names, node.getSelfWeight()])
    for (const child of node.children)
      open.push([child, [...names, child.frame.name]])
  }
  return stacks
}

const importText = loadPage()
for (const file of files) {
  const group = await importText(path.basename(file), fs.readFileSync(file, 'utf8'))
  if (!group)
    throw new Error(`speedscope knows no format for ${file}`)
  const profiles = group.profiles.map(profile => ({
    name: profile.getName(),
    unit: profile.getWeightUnit(),
    stacks: stacksOf(profile),
  }))
  fs.writeSync(1, JSON.stringify(profiles) + '\n')
}
process.exit(0)
