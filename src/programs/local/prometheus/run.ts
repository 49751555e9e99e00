// Runs a Prometheus of this machine beside the local fleet, with the shipped rules, until the user stops it. Its data stays in the folder of the fleet.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { counted } from '#lib/counted.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { freePort } from '#lib/free-port.ts'
import { makePrivateFolder } from '#lib/private-folder.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { openLog } from '#lib/whole-file.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { connector } from '../connector.ts'
import { findData } from '../find-data.ts'
import { businessFolders, type Layout, layoutOf } from '../layout.ts'
import { localErrors } from '../local-errors.ts'
import { isLocked } from '../lock.ts'
import { type AgentFiles, writeTargets, writeToken } from './agents.ts'
import { prometheusConfig } from './config.ts'

export interface PrometheusAsked {
  readonly data?: string
  readonly port: number
  /** The program; searched in PATH when it is a name. */
  readonly program: string
  /** Instead of the shipped ones. */
  readonly rules?: string
}

const REFRESH_MS = 10_000
/** A third of the life of a token. */
const TOKEN_MS = 1_200_000
const STOP_MS = 5_000
const READY_MS = 15_000
const POLL_MS = 100
const KEPT = '3d'
const RULES = 'deploy/alerts/kubenode.rules.yaml'

export async function runPrometheus(asked: PrometheusAsked, io: Io): Promise<void> {
  const data = asked.data === undefined ? findData(io.cwd) : resolve(io.cwd, asked.data)
  if (data === undefined) throw new KubeNodeError(localErrors.KN1233_noFleet({ folder: io.cwd }))
  const layout = layoutOf(data)
  if (!isLocked(layout)) throw new KubeNodeError(localErrors.KN1233_stopped({ folder: data }))
  const rules = rulesFile(asked.rules, io.cwd)
  // Another Prometheus there would answer for this one.
  if ((await freePort(asked.port)) === undefined)
    throw new KubeNodeError(localErrors.KN1233_port({ port: String(asked.port) }))
  makePrivateFolder(layout.prometheus)
  const shutdown = untilEnded()
  const files = new ClusterFiles(layout, (line) => io.err(`${line}\n`))
  await files.refresh()
  const configFile = join(layout.prometheus, 'prometheus.yml')
  const configured = (): string => prometheusConfig({ programs: layout.metrics, agents: files.all, rules })
  let config = configured()
  writeFileSync(configFile, config)
  const child = await started({ ...asked, layout, configFile, env: io.env })
  const ended = once(child, 'exit') as Promise<[number | null]>
  try {
    await untilReady(asked.port, ended, layout)
    const url = `http://127.0.0.1:${asked.port}`
    io.err(`Prometheus of the local fleet: ${url} (alerts: ${url}/alerts); Ctrl-C stops it\n`)
    while (!shutdown.signal.aborted && child.exitCode === null) {
      await systemClock.sleep(REFRESH_MS, shutdown.signal).catch(() => undefined)
      if (!shutdown.signal.aborted) await files.refresh()
      if (configured() === config) continue
      config = configured()
      writeFileSync(configFile, config)
      child.kill('SIGHUP')
    }
    if (!shutdown.signal.aborted) throw exited(layout, child.exitCode)
  } finally {
    child.kill('SIGTERM')
    await Promise.race([ended, systemClock.sleep(STOP_MS)])
    if (child.exitCode === null) child.kill('SIGKILL')
  }
}

/** Prometheus starts without a file that does not exist, and looks for a relative path in the folder of its configuration. */
function rulesFile(asked: string | undefined, cwd: string): string {
  if (asked === undefined) return join(releaseRoot(), RULES)
  const file = resolve(cwd, asked)
  if (!existsSync(file)) throw new KubeNodeError(localErrors.KN1233_rules({ file }))
  return file
}

const exited = ({ logs }: Layout, code: number | null): KubeNodeError =>
  new KubeNodeError(localErrors.KN1233_ended({ code: String(code), log: join(logs, 'prometheus.log') }))

interface Starting extends PrometheusAsked {
  readonly layout: Layout
  readonly configFile: string
  readonly env: Io['env']
}

async function started({ program, port, layout, configFile, env }: Starting): Promise<ChildProcess> {
  const log = openLog(join(layout.logs, 'prometheus.log'))
  const args = [
    `--config.file=${configFile}`,
    `--storage.tsdb.path=${join(layout.prometheus, 'data')}`,
    `--storage.tsdb.retention.time=${KEPT}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const child = spawn(program, args, { stdio: ['ignore', log, log], env: { PATH: env['PATH'] ?? '' } })
  closeSync(log)
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(new KubeNodeError(localErrors.KN1233({ program, why: messageOf(cause) }))))
  })
  return child
}

async function untilReady(port: number, ended: Promise<[number | null]>, layout: Layout): Promise<void> {
  let code: number | null | undefined
  void ended.then(([c]) => (code = c))
  for (const until = systemClock.monotonic() + READY_MS; systemClock.monotonic() < until;) {
    if (code !== undefined) throw exited(layout, code)
    const isReady = await fetch(`http://127.0.0.1:${port}/-/ready`).then(
      (r) => r.ok,
      () => false,
    )
    if (isReady) return
    await systemClock.sleep(POLL_MS)
  }
  throw exited(layout, null)
}

/** The files of the agents of each cluster, as far as its agents let Prometheus in. */
class ClusterFiles {
  readonly #layout: Layout
  readonly #print: (line: string) => void
  readonly #tokens = new Map<string, number>()
  readonly #said = new Map<string, string>()
  #all: readonly AgentFiles[] = []

  constructor(layout: Layout, print: (line: string) => void) {
    this.#layout = layout
    this.#print = print
  }

  get all(): readonly AgentFiles[] {
    return this.#all
  }

  /** A cluster that does not answer keeps its files; what keeps agents from being scraped is printed once. */
  async refresh(): Promise<void> {
    const names = businessFolders(this.#layout).filter((name) => existsSync(this.#layout.cluster(name).adminKubeconfig))
    for (const gone of this.#all.filter(({ cluster }) => !names.includes(cluster)))
      for (const file of [gone.targets, gone.token]) rmSync(file, { force: true })
    const all: AgentFiles[] = []
    for (const cluster of names) {
      const files = {
        cluster,
        targets: join(this.#layout.prometheus, `${cluster}.json`),
        token: join(this.#layout.prometheus, `${cluster}.token`),
      }
      all.push(files)
      await this.#write(files).catch((e: unknown) => this.#say(cluster, messageOf(e)))
    }
    this.#all = all
  }

  async #write(files: AgentFiles): Promise<void> {
    const { cluster } = files
    const { client } = await connector(this.#layout.cluster(cluster).adminKubeconfig)
    try {
      if (systemClock.monotonic() - (this.#tokens.get(cluster) ?? Number.NEGATIVE_INFINITY) >= TOKEN_MS) {
        await writeToken(client, files)
        this.#tokens.set(cluster, systemClock.monotonic())
      }
      const [first, ...more] = await writeTargets(client, files)
      if (first !== undefined)
        this.#say(cluster, more.length === 0 ? first : `${first} (and ${counted(more.length, 'more note')})`)
    } finally {
      client.close()
    }
  }

  #say(cluster: string, text: string): void {
    if (this.#said.get(cluster) === text) return
    this.#said.set(cluster, text)
    this.#print(`${cluster}: ${text}`)
  }
}
