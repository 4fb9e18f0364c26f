// What a walk through the page needs beside a browser: a controller of its own, the shop under load, and REST.
//
// Everything is started within the private pid namespace that tests/apart gives, and ends with it; end() is for tidiness.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = process.env.SONDE_ROOT ?? dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const SONDE = process.env.SONDE ?? join(ROOT, 'build/dev/sonde')
export const PATIENCE = 60_000 // ms until something counts as hanging; nothing is asserted about how fast it is
const SHOP = join(ROOT, 'build/shop/shop.dll')
const TARGETS = join(ROOT, 'build/apps/targets/targets.dll')

// Ends the test as one that cannot run here.
export function skip(reason) {
  console.log(`skipped: ${reason}`)
  process.exit(77)
}

// The first true answer of `holds`, which may be a promise; fails after `patience`.
export async function until(what, holds, patience = PATIENCE) {
  const deadline = Date.now() + patience
  for (;;) {
    const answer = await holds()
    if (answer) return answer
    if (Date.now() > deadline) throw new Error(`waited ${patience / 1000} s in vain: ${what}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

// A child whose output is kept.
class Child {
  constructor(argv, env = {}) {
    this.text = ''
    this.child = spawn(argv[0], argv.slice(1), { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const pipe of [this.child.stdout, this.child.stderr]) pipe.on('data', (data) => { this.text += data })
    this.child.on('error', (error) => { this.text += error.message })
    this.name = argv.slice(0, 3).join(' ')
  }
  get pid() { return this.child.pid }
  get isRunning() { return this.child.exitCode === null && this.child.signalCode === null && this.pid !== undefined }

  // The first match in what it wrote.
  async says(pattern) {
    return until(`${this.name} says ${pattern}:\n${this.text}`, () => {
      const found = pattern.exec(this.text)
      if (!found && !this.isRunning) throw new Error(`${this.name} ended early:\n${this.text}`)
      return found
    })
  }

  async end(signal = 'SIGTERM') {
    if (!this.isRunning) return
    const ended = once(this.child, 'exit')
    this.child.kill(signal)
    const late = setTimeout(() => this.child.kill('SIGKILL'), 10_000)
    await ended
    clearTimeout(late)
  }
}

function dotnet() {
  const found = spawnSync(join(ROOT, 'tools/test-runtimes'), { encoding: 'utf8' })
  const program = join(found.stdout.trim(), '10/dotnet')
  if (found.status !== 0 || !existsSync(program)) skip('no .NET runtimes; tools/test-runtimes says why')
  return program
}

const RUNTIME = { DOTNET_ROLL_FORWARD: 'LatestMajor', DOTNET_CLI_TELEMETRY_OPTOUT: '1', SONDE_HOST: 'none' }

// A controller, and on demand the shop and other processes. `key` may do everything.
export class Stage {
  // serve: further options of `sonde serve`.
  static async start({ serve = [] } = {}) {
    if (!existsSync(SONDE)) skip(`no ${SONDE}; 'make dev' builds it`)
    const stage = new Stage()
    stage.folder = mkdtempSync(join(tmpdir(), 'sonde-stage-'))
    stage.state = join(stage.folder, 'state')
    stage.options = serve
    stage.children = []
    stage.keyCount = 0
    await stage.serve('127.0.0.1:0')
    return stage
  }

  async serve(address) {
    this.controller = new Child([SONDE, 'serve', '--listen', address, '--socket', join(this.folder, 'control.sock'), '--state',
      this.state, ...this.options], { XDG_RUNTIME_DIR: this.folder, XDG_STATE_HOME: this.folder, SONDE_HOST: 'none' })
    this.printedLink = (await this.controller.says(/open (http\S+)/))[1]
    this.cookies = null
    this.url = this.printedLink.replace(/#.*/, '')
    this.port = Number(new URL(this.url).port)
    this.key = readFileSync(join(this.state, 'key'), 'utf8').trim()
  }

  // Ends the controller; serve() or restart() brings it back at the same address.
  async stopController(signal) { await this.controller.end(signal) }
  async restart(signal) {
    await this.stopController(signal)
    await this.serve(`127.0.0.1:${this.port}`)
  }

  // One REST call with a key (the one for everything unless told; null: none): {status, headers, json, text}.
  async ask(method, path, body, key = this.key) {
    const headers = { ...(key && { Authorization: `Bearer ${key}` }), ...(body !== undefined && { 'Content-Type': 'application/json' }) }
    const answer = await fetch(new URL(path.replace(/^\//, ''), this.url), { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
    const text = await answer.text()
    const isJson = /json/.test(answer.headers.get('content-type') ?? '')
    return { status: answer.status, headers: answer.headers, text, json: isJson && text ? JSON.parse(text) : undefined }
  }

  async get(path, key) {
    const answer = await this.ask('GET', path, undefined, key)
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`)
    return answer.json ?? answer.text
  }

  // A new key of this scope: the text that one shows.
  newKey(scope) {
    const made = spawnSync(SONDE, ['key', 'add', '--scope', scope, '--name', `test-${scope}-${++this.keyCount}`, '--json', '--state', this.state], { encoding: 'utf8' })
    if (made.status !== 0) throw new Error(made.stderr)
    return JSON.parse(made.stdout).token
  }

  // A link that lets one browser in: the printed one first, then new ones.
  async link() {
    const printed = this.printedLink
    this.printedLink = null
    if (printed) return printed
    const made = await this.ask('POST', '/api/v1/links', {})
    if (made.status >= 300) throw new Error(`no new link: ${made.status} ${made.text}`)
    return made.json.url
  }

  // The cookie of a browser that a link let in, as playwright takes it: one for all, as tabs of one browser have it.
  async cookie() {
    if (this.cookies) return this.cookies
    const code = new URLSearchParams(new URL(await this.link()).hash.slice(1)).get('code')
    this.cookies = await this.logIn({ code })
    return this.cookies
  }

  // The same for {code} or {key}.
  async logIn(proof) {
    const answer = await this.ask('POST', '/api/v1/session', proof, null)
    if (answer.status !== 201) throw new Error(`log in: ${answer.status} ${answer.text}`)
    const [name, value] = answer.headers.get('set-cookie').split(';')[0].split('=')
    return [{ name, value, url: this.url, httpOnly: true, sameSite: 'Strict' }]
  }

  run(argv, env) {
    const child = new Child(argv, { ...RUNTIME, ...env })
    this.children.push(child)
    return child
  }

  // The shop, under `rate` requests a second: {pid, url}. It is there when the controller sees it.
  async shop({ rate = 100, seconds = 600, env } = {}) {
    if (!existsSync(SHOP)) skip("no build/shop/shop.dll; 'samples/shop/build' builds it, with a .NET SDK")
    const program = dotnet()
    const shop = this.run([program, SHOP, '--urls', 'http://127.0.0.1:0'], env)
    const url = (await shop.says(/shop: listening on (\S+)/))[1]
    if (rate) this.run([program, SHOP, 'load', '--url', url, '--seconds', String(seconds), '--rate', String(rate)])
    await this.sees(shop.pid)
    return { pid: shop.pid, url, child: shop }
  }

  // A process of tests/apps/targets that does one thing: 'gc', 'exceptions', 'idle'... `dll`: a copy of it by another name.
  program(behaviour, { dll = TARGETS, env, args = [] } = {}) {
    if (!existsSync(dll)) skip("no build/apps/targets; 'tests/apps/build' builds it, with a .NET SDK")
    return this.run([dotnet(), dll, behaviour, ...args, '--seconds', '300'], env)
  }

  // The same, when the controller sees it.
  async target(behaviour, options) {
    const child = this.program(behaviour, options)
    await this.sees(child.pid)
    return { pid: child.pid, child }
  }

  async sees(pid) {
    await until(`the controller sees process ${pid}`, async () => (await this.ask('GET', `/api/v1/processes/${pid}`)).status === 200)
  }

  async end() {
    for (const child of [...this.children.reverse(), this.controller]) await child.end()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
