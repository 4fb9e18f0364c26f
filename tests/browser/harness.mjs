// Walks through the page in Debian's Chromium, driven by playwright-core. A test is an executable file NAME_test:
//
//   #!/usr/bin/env node
//   // # apart: a controller watches every process that it sees
//   import('./harness.mjs').then(({ walk }) => walk(async ({ test, stage, assert }) => {
//     await stage.shop()
//     await test('the shop is listed', async ({ open }) => {
//       const page = await open('#/', { width: 390, dark: true })
//       await page.getByText('shop').first().waitFor()
//       await page.check('processes-narrow-dark')
//     })
//   }))
//
// By hand: tests/apart tests/browser/NAME_test [PATTERN]; only tests whose name matches then run. Screenshots are in
// build/screenshots. A test fails, too, when one of its pages wrote an error to its console or asked another host.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { PATIENCE, ROOT, SONDE, Stage, skip, until } from './stage.mjs'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync)
const SHOTS = join(ROOT, 'build/screenshots')
export const WIDE = { width: 1280, height: 800 }
export const NARROW = { width: 390, height: 844 }

// Both themes, both widths: `visit` gets {dark, width, height, name} and a name such as "narrow-dark".
export async function everyLook(visit) {
  for (const dark of [false, true])
    for (const size of [WIDE, NARROW])
      await visit({ ...size, dark, name: `${size === WIDE ? 'wide' : 'narrow'}-${dark ? 'dark' : 'light'}` })
}

function packages() {
  const manifest = join(ROOT, 'web/package.json')
  try {
    const load = createRequire(manifest)
    return { chromium: load('playwright-core').chromium, axe: readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8') }
  } catch (error) {
    return skip(`no playwright-core: 'tools/page' fetches it (${error.message.split('\n')[0]})`)
  }
}

// Nothing but this machine has a name, so that what asks elsewhere fails and is seen.
const launch = (chromium) => chromium.launch({
  executablePath: CHROMIUM,
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update', '--no-first-run',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--enable-precise-memory-info'],
})

// --- what a page must never do ---

// What a page wrote to its console as an error, threw, or asked of others. `expected`: patterns of what a test provokes.
const DRIVER_TALK = /GL Driver Message/ // of a machine without a graphics card
function watch(page, origin, complaints, expected) {
  const complain = (text) => { if (![DRIVER_TALK, ...expected].some((pattern) => pattern.test(text))) complaints.push(text) }
  page.on('console', (message) => {
    const { url } = message.location()
    if (['error', 'warning', 'assert'].includes(message.type())) complain(`console ${message.type()}: ${message.text()} (${url})`)
  })
  page.on('pageerror', (error) => complain(`thrown: ${error.stack ?? error.message}`))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) complain(`a request to elsewhere: ${url}`)
  })
  page.on('crash', () => complain('the tab crashed'))
}

// --- what a page must always be ---

// Elements that stick out of the window to the right, or make the page scroll sideways.
const findOverflow = () => {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth
  if (wide <= 0) return []
  const edge = document.documentElement.clientWidth
  const outside = [...document.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > edge + 0.5)
  return [`${wide}px too wide`, ...outside.slice(0, 5).map((one) => `${one.tagName.toLowerCase()}.${String(one.className?.baseVal ?? one.className)} "${(one.textContent ?? '').slice(0, 40)}"`)]
}

// Large text is not let off: everything has 4.5.
const runAxe = async () => {
  axe.configure({ checks: [{ id: 'color-contrast', options: { contrastRatio: { normal: { expected: 4.5 }, large: { expected: 4.5 } } } }] })
  const found = await axe.run(document, { resultTypes: ['violations'] })
  return found.violations.filter(({ impact, id }) => impact === 'serious' || impact === 'critical' || id === 'color-contrast')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`).join(' | ')}`)
}

// --- pages ---

class Visits {
  constructor(stage, browser, axe) { Object.assign(this, { stage, browser, axe, contexts: [], complaints: [], expected: [] }) }

  // A browser of its own: cookies, storage, event stream. `key`: logs in with it; null: does not log in.
  async newBrowser({ width = WIDE.width, height = WIDE.height, dark = false, key } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce', acceptDownloads: true })
    context.setDefaultTimeout(PATIENCE)
    this.contexts.push(context)
    if (key !== null) await context.addCookies(key ? await this.stage.logIn({ key }) : await this.stage.cookie())
    return context
  }

  // A tab at a route ('#/', '#/recordings') or a whole address; in a browser of its own unless `context` is given.
  async open(where = '#/', options = {}) {
    const context = options.context ?? await this.newBrowser(options)
    const page = await context.newPage()
    watch(page, new URL(this.stage.url).origin, this.complaints, this.expected)
    page.shot = (name, more) => takeShot(page, name, more)
    page.check = (name, more) => this.check(page, name, more)
    page.heap = () => heapOf(page)
    await page.goto(/^https?:/.test(where) ? where : this.stage.url + where)
    return page
  }

  // A screenshot, and: nothing sticks out, axe finds nothing serious, contrast is enough.
  async check(page, name, { shot = true, axe = true } = {}) {
    if (shot) await takeShot(page, name)
    assert.deepEqual(await page.evaluate(findOverflow), [], `${name}: overflow`)
    if (!axe) return
    await page.evaluate(this.axe)
    assert.deepEqual(await page.evaluate(runAxe), [], `${name}: axe`)
  }

  async close() {
    for (const context of this.contexts) await context.close()
  }
}

async function takeShot(page, name, more = {}) {
  mkdirSync(SHOTS, { recursive: true })
  await page.screenshot({ path: join(SHOTS, `${name}.png`), animations: 'disabled', ...more })
}

// Bytes of the tab's heap after a collection.
async function heapOf(page) {
  const session = await page.context().newCDPSession(page)
  for (let i = 0; i < 3; i++) await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  return usedSize
}

// --- running ---

async function runOne(name, body, parts) {
  const visits = new Visits(parts.stage, parts.browser, parts.axe)
  const began = Date.now()
  try {
    await body({
      open: (where, options) => visits.open(where, options),
      newBrowser: (options) => visits.newBrowser(options),
      expect: (...patterns) => visits.expected.push(...patterns),
      complaints: visits.complaints, stage: parts.stage, assert, until,
    })
    assert.deepEqual(visits.complaints, [], 'what its pages complained of')
    console.log(`ok      ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`)
    return true
  } catch (error) {
    console.log(`FAILED  ${name}\n${error.stack}`)
    for (const complaint of visits.complaints) console.log(`  the page: ${complaint}`)
    const pages = visits.contexts.flatMap((context) => context.pages())
    for (const [i, page] of pages.entries())
      await takeShot(page, `failed-${name.replace(/\W+/g, '-')}${i ? `-${i}` : ''}`).catch(() => {})
    return false
  } finally {
    await visits.close().catch(() => {})
  }
}

// The whole of a test file: a controller, a browser, then `body`. `serve`: further options of the controller.
export async function walk(body, { serve } = {}) {
  if (!CHROMIUM) skip("no chromium; 'tools/install test' installs it")
  const { chromium, axe } = packages()
  const only = process.argv[2] && new RegExp(process.argv[2])
  let [passed, failed] = [0, 0]
  let stage, browser
  try {
    stage = await Stage.start({ serve })
    browser = await launch(chromium)
    const test = async (name, one) => {
      if (only && !only.test(name)) return
      if (await runOne(name, one, { stage, browser, axe })) passed++
      else failed++
    }
    await body({ test, stage, browser, assert, until, everyLook })
  } catch (error) {
    console.log(`FAILED  ${error.stack}`)
    failed++
  } finally {
    await browser?.close().catch(() => {})
    await stage?.end().catch(() => {})
  }
  console.log(`${passed} passed, ${failed} failed`)
  process.exit(failed ? 1 : 0)
}

export { PATIENCE, ROOT, SONDE, Stage, skip, until }
