// A local fleet of a test: a clone of this repository with the work tree's commit, its own data folder, real processes; ended whatever happens.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { processesWith, until } from '#test/support/tools/processes.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
/** A loaded machine needs minutes for what takes an idle one seconds. */
export const PATIENCE_MS = 300_000

export interface Shell {
  readonly code: number
  readonly out: string
}

export class TestFleet {
  readonly checkout: string
  readonly data: string
  #child: ChildProcess | undefined
  #said = ''

  /** `data`: absent, below the checkout, as without `--data`. */
  constructor(data?: string) {
    this.checkout = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-way-')))
    this.data = data ?? join(this.checkout, '.kubenode')
    execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${ROOT}`, this.checkout])
    // The work tree is tested, committed or not.
    const git = (...args: string[]) => execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' })
    const changed =
      `${git('diff', '--name-only', '--diff-filter=d', 'HEAD')}${git('ls-files', '-o', '--exclude-standard')}`
        .split('\n')
        .filter(Boolean)
    for (const file of changed) spawnSync('cp', ['--parents', file, this.checkout], { cwd: ROOT })
    symlinkSync(join(ROOT, 'node_modules'), join(this.checkout, 'node_modules'))
    execFileSync('git', ['-C', this.checkout, 'add', '-A'])
    spawnSync('git', [
      '-C',
      this.checkout,
      '-c',
      'user.name=t',
      '-c',
      'user.email=t@localhost',
      'commit',
      '-qm',
      'work tree',
    ])
  }

  get repository(): string {
    return join(this.data, 'repository')
  }

  get said(): string {
    return this.#said
  }

  kubeconfig(cluster: string): string {
    return join(this.data, cluster, 'apiserver', 'admin.kubeconfig')
  }

  start(...args: readonly string[]): void {
    this.startWithUmask('022', ...args)
  }

  startWithUmask(umask: string, ...args: readonly string[]): void {
    const program = join(this.checkout, 'bin/kubenode')
    const child = spawn('/bin/sh', ['-c', 'umask "$0" && exec "$@"', umask, program, 'local', 'up', ...args], {
      cwd: this.checkout,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (d: Buffer) => (this.#said += d.toString()))
    this.#child = child
  }

  /** As a person sees it: only a terminal gets the link of the console. */
  startOnTerminal(...args: readonly string[]): void {
    const line = [join(this.checkout, 'bin/kubenode'), 'local', 'up', ...args].join(' ')
    const child = spawn('script', ['-qefc', line, '/dev/null'], {
      cwd: this.checkout,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (d: Buffer) => (this.#said += d.toString()))
    this.#child = child
  }

  /** The exit code; undefined after a signal. */
  async end(signal: NodeJS.Signals): Promise<number | undefined> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? undefined
    const ended = new Promise<number | undefined>((done) => child.once('exit', (code) => done(code ?? undefined)))
    // A terminal turns the key into the signal.
    if (child.stdin !== null && signal === 'SIGINT') child.stdin.write('\u0003')
    else child.kill(signal)
    return ended
  }

  /** Asynchronously: watchers of the fleet must receive events as they happen. */
  run(command: string, cwd = this.checkout): Promise<Shell> {
    return new Promise((done, fail) => {
      const child = spawn('bash', ['-euc', command], { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: PATIENCE_MS })
      let out = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (d: Buffer) => (out += d.toString()))
      child.once('error', fail)
      child.once('close', (code) => done({ code: code ?? -1, out }))
    })
  }

  /** Waits until the fleet is as its newest commit says; something else may need attention all the same, such as a canary that failed. */
  async settled(): Promise<void> {
    // Fails at once if no fleet is being started.
    await until('the fleet is being started', () => existsSync(join(this.data, 'lock')) || undefined, PATIENCE_MS)
    const status = `bin/kubenode local status --data ${this.data}`
    const wait = `${status} --quiet --wait --timeout ${PATIENCE_MS / 1000}s`
    // Quiet, it prints there only what differs from git.
    const { out: missing } = await this.run(`${wait} 2>&1 >/dev/null || true`)
    if (missing === '') return
    const { out } = await this.run(`${status} || true`)
    throw new Error(`the fleet did not settle:\n${missing}\n${out}\n${this.#said.slice(-3_000)}`)
  }

  setVersion(component: string, version: string): void {
    const file = join(this.repository, 'fleet/clusters/versions.json')
    const versions = { ...(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>), [component]: version }
    writeFileSync(file, `${JSON.stringify(versions, null, 2)}\n`)
    this.commit(`${component} ${version}`)
  }

  commit(message: string): void {
    execFileSync('git', ['-C', this.repository, 'commit', '-qam', message])
  }

  processes(...parts: readonly string[]) {
    return processesWith(this.data, ...parts)
  }

  /** Ends every process that a test left running, and deletes the folder. */
  async dispose(): Promise<void> {
    await this.end('SIGINT')
    for (const { pid } of this.processes()) process.kill(pid, 'SIGKILL')
    await until('all processes of the fleet are gone', () => this.processes().length === 0 || undefined, 20_000)
    rmSync(this.checkout, { recursive: true, force: true })
  }
}
