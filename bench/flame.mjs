// The flame graph in Chromium: frame times with 10^5 and 10^6 nodes of a synthetic profile, beside speedscope's on the same
// profile; the page's weight; the time until the first chart of a page that a controller with the shop serves.
//
//   node bench/flame.mjs [frames|page]        bench/run flame does it, too; prints tables as JSON. Nothing here asserts.
import { createRequire } from 'node:module'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const load = createRequire(join(root, 'web/package.json'))
const { build } = load('esbuild')
const { chromium } = load('playwright-core')
const SPEEDSCOPE_NODES = 100_000
const STEPS = 120
const SIZE = { width: 1280, height: 800 }
const SPEEDSCOPE = join(root, 'web/node_modules/speedscope/dist/release')
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.woff2': 'font/woff2' }

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const wants = (what) => words.length === 0 || words.includes(what)
const ROUNDS = Number(process.env.ROUNDS ?? 20)
const tables = []
const table = (title, ...columns) => tables.push({ title, columns, rows: [] })
const row = (...cells) => tables.at(-1).rows.push(cells)
const ms = (value) => value.toFixed(value < 10 ? 1 : 0)
const spread = ({ median, p95, most }) => `${ms(median)} (95 %: ${ms(p95)}, most ${ms(most)})`

async function bundle(name) {
  const { outputFiles } = await build({ entryPoints: [join(root, 'bench', name)], bundle: true, minify: true, format: 'esm', target: 'es2022', write: false })
  return outputFiles[0].text
}

const { synthesize } = await import(`data:text/javascript;base64,${Buffer.from(await bundle('flame_tree.ts')).toString('base64')}`)

// The same calls as speedscope reads them: one sample a node with something of its own.
function forSpeedscope({ frames, nodes }) {
  const samples = []
  const weights = []
  for (const [id, , , self] of nodes) {
    if (id === 0 || self === 0) continue
    const stack = []
    for (let at = id; at !== 0; at = nodes[at][1]) stack.push(nodes[at][2])
    samples.push(stack.reverse())
    weights.push(self)
  }
  return JSON.stringify({ $schema: 'https://www.speedscope.app/file-format-schema.json', shared: { frames: frames.map(([, name]) => ({ name })) },
    profiles: [{ type: 'sampled', name: 'bench', unit: 'nanoseconds', startValue: 0, endValue: weights.reduce((sum, one) => sum + one, 0), samples, weights }] })
}

// speedscope's files and one profile, from one address.
function serve(script, profile) {
  const server = createServer((request, answer) => {
    const path = new URL(request.url, 'http://x').pathname
    const file = join(SPEEDSCOPE, path.replace(/^\/speedscope\//, ''))
    if (path === '/') return answer.setHeader('content-type', 'text/html').end('<!doctype html><title>bench</title><body style="margin:0">')
    if (path === '/scene.js') return answer.setHeader('content-type', 'text/javascript').end(script)
    if (path === '/profile.json') return answer.setHeader('content-type', 'application/json').end(profile.text)
    if (!existsSync(file)) return answer.writeHead(404).end()
    return answer.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream').end(readFileSync(file))
  })
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)))
}

// From frame to frame while the wheel zooms; what the browser's own machinery costs is in it, for both.
async function wheelFrames(page, selector) {
  const box = await page.locator(selector).first().boundingBox()
  await page.evaluate(() => {
    window.frameTimes = []
    let last = performance.now()
    const tick = (now) => { window.frameTimes.push(now - last); last = now; window.frameTick = requestAnimationFrame(tick) }
    window.frameTick = requestAnimationFrame(tick)
  })
  await page.mouse.move(box.x + box.width / 3, box.y + Math.min(box.height / 2, 100))
  await page.keyboard.down('Control')
  for (let i = 0; i < 60; i++) await page.mouse.wheel(0, i % 30 < 15 ? -60 : 60)
  await page.keyboard.up('Control')
  return page.evaluate(() => {
    cancelAnimationFrame(window.frameTick)
    const sorted = window.frameTimes.slice(2).sort((a, b) => a - b)
    return { median: sorted[sorted.length >> 1], p95: sorted[Math.floor(sorted.length * 0.95)], most: sorted.at(-1) }
  })
}

// What the page's thread computes during `work`, in ms: not what others on a busy machine do meanwhile.
async function computed(page, work) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const spent = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value
  const before = await spent()
  await work()
  const after = await spent()
  await session.detach()
  return 1000 * (after - before)
}

async function framesOf(browser, address, count) {
  const page = await browser.newPage({ viewport: SIZE })
  await page.goto(address)
  await page.addScriptTag({ url: `${address}scene.js`, type: 'module' })
  await page.waitForFunction(() => globalThis.flameBench)
  const ours = await page.evaluate((nodes) => globalThis.flameBench.prepare(nodes), count)
  ours.zoom = await computed(page, () => page.evaluate((steps) => globalThis.flameBench.zoom(steps), STEPS)) / STEPS
  ours.hover = await computed(page, () => page.evaluate((steps) => globalThis.flameBench.hover(steps), STEPS)) / STEPS
  ours.wheel = await wheelFrames(page, 'canvas')
  await page.close()
  return ours
}

async function speedscopeOf(browser, address) {
  const page = await browser.newPage({ viewport: SIZE })
  const began = Date.now()
  try {
    await page.goto(`${address}speedscope/index.html#profileURL=${encodeURIComponent(`${address}profile.json`)}`)
    await page.waitForFunction(() => document.title.includes('bench'), null, { timeout: 120_000 })
    const opened = Date.now() - began
    await page.keyboard.press('2') // left heavy: the one that merges, as a flame graph does
    await page.waitForTimeout(3000)
    const wheels = []
    const zoom = await computed(page, async () => wheels.push(await wheelFrames(page, 'canvas'))) / 60
    return { opened, zoom, wheel: wheels[0] }
  } catch (error) {
    return { failed: error.message.split('\n')[0] }
  } finally {
    await page.close()
  }
}

async function benchFrames(browser) {
  const profile = { text: '' }
  const server = await serve(await bundle('flame_scene.ts'), profile)
  const address = `http://127.0.0.1:${server.address().port}/`
  table('The flame graph in Chromium, ms; no graphics card: the browser paints in software', '', '10^5 nodes', '10^6 nodes')
  const all = []
  for (const count of [100_000, 1_000_000]) {
    const ours = await framesOf(browser, address, count)
    const isTooMuch = count > SPEEDSCOPE_NODES
    if (!isTooMuch) profile.text = forSpeedscope(synthesize(count))
    all.push({ ...ours, peer: isTooMuch ? { failed: 'not tried: every stack is written out, 300 MB' } : await speedscopeOf(browser, address) })
  }
  const line = (label, of) => row(label, ...all.map(of))
  line('read: parse JSON, take rows, unfold', (one) => [one.parse, one.take, one.unfold].map(ms).join(' + '))
  line('invert (callers first)', (one) => ms(one.invert))
  line('first drawing', (one) => ms(one.show))
  line('search, share of the total', (one) => ms(one.search))
  line('a drawing while zooming, ms computed', (one) => `${ms(one.zoom)} (${one.boxes} boxes at first)`)
  line('pointing at a box, ms computed', (one) => one.hover.toFixed(2))
  line('a step of the wheel, speedscope, ms computed', (one) => (one.peer.zoom ? ms(one.peer.zoom) : one.peer.failed))
  line('from frame to frame, wheel zoom', (one) => spread(one.wheel))
  line('the same, speedscope, left heavy', (one) => (one.peer.wheel ? spread(one.peer.wheel) : one.peer.failed))
  line('opening the profile, speedscope', (one) => (one.peer.opened ? ms(one.peer.opened) : '-'))
  server.close()
}

function weigh(folder) {
  let bytes = 0
  for (const name of readdirSync(folder, { recursive: true })) {
    const path = join(folder, name)
    if (statSync(path).isFile() && !name.startsWith('speedscope') && !name.endsWith('.gz')) bytes += gzipSync(readFileSync(path), { level: 9 }).length
  }
  return bytes
}

// A controller and the shop, as the browser tests have them; so this part is to be run by tests/apart.
async function benchPage(browser) {
  const { Stage } = await import('../tests/browser/stage.mjs')
  const stage = await Stage.start()
  try {
    const { pid } = await stage.shop()
    const times = []
    const flames = []
    for (let i = 0; i < ROUNDS; i++) {
      const context = await browser.newContext({ viewport: SIZE })
      await context.addCookies(await stage.cookie())
      const page = await context.newPage()
      const began = Date.now()
      await page.goto(`${stage.url}#/`)
      await page.waitForSelector('canvas.spark')
      times.push(Date.now() - began)
      const again = Date.now()
      await page.goto(`${stage.url}#/process/${pid}/flame`)
      await page.waitForSelector('.flame-scroll canvas')
      flames.push(Date.now() - again)
      await context.close()
    }
    const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1]
    table(`The page of a controller; median of ${ROUNDS} visits (least..most)`, '', 'is')
    row('weight, compressed, without speedscope', `${(weigh(join(root, 'build/web/page')) / 1000).toFixed(1)} KB`)
    row('from the address to the first chart', `${middle(times)} ms (${times[0]}..${times.at(-1)})`)
    row('from the list to the first flame graph of a running process', `${middle(flames)} ms (${flames[0]}..${flames.at(-1)})`)
  } finally {
    await stage.end()
  }
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] })
try {
  if (wants('frames')) await benchFrames(browser)
  if (wants('page')) await benchPage(browser)
  console.log(JSON.stringify(tables))
} finally {
  await browser.close()
}
