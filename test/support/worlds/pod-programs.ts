// The containers of one pod as processes of this host: Secrets, ConfigMaps and volumes are folders, names of pods are loopback, and every port is a free one.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { request as plainRequest } from 'node:http'
import { join } from 'node:path'

export interface Container {
  readonly name: string
  readonly image: string
  readonly command: readonly string[]
  readonly env?: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: {
      readonly fieldRef?: { readonly fieldPath: string }
      readonly configMapKeyRef?: { readonly name: string; readonly key: string }
    }
  }[]
  readonly ports?: readonly { readonly containerPort: number }[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
  readonly readinessProbe?: {
    readonly httpGet: { readonly path: string; readonly port: number; readonly scheme: 'HTTP' | 'HTTPS' }
  }
}

export interface PodSpec {
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
  readonly volumes?: readonly {
    readonly name: string
    readonly secret?: { readonly secretName: string }
    readonly configMap?: { readonly name: string }
    readonly persistentVolumeClaim?: { readonly claimName: string }
    readonly emptyDir?: object
  }[]
}

const HOST = '127.0.0.1'
const AGAIN_MS = 1_000
/** Exit codes of a container that did not begin, and of one that a signal ended. */
const [NO_CONFIG, ENDED] = [127, 128]
/** The kernel ends a program with the process that started it: a test that is killed cannot. */
const SETPRIV = '/usr/bin/setpriv'
const withUs: readonly string[] = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', '--'] : []

export interface PodTools {
  readonly name: string
  readonly namespace: string
  readonly folder: string
  /** Where a port of a pod is on this host. */
  readonly portOf: (pod: string, port: number) => number
  /** The folder of a volume. */
  readonly volumes: Readonly<Record<string, string>>
  /** A value of a ConfigMap now; undefined when there is none. */
  readonly valueOf: (configMap: string, key: string) => Promise<string | undefined>
  /** The file of a program, and arguments in place of what its image is. */
  readonly programOf: (program: string, image: string) => { readonly file: string; readonly more: readonly string[] }
}

export class PodPrograms {
  readonly #tools: PodTools
  readonly #spec: PodSpec
  #child: ChildProcess | undefined
  #isEnding = false
  /** Of the last container, once all have ended. */
  exit: number | undefined
  readonly ended: Promise<void>

  constructor(spec: PodSpec, tools: PodTools) {
    this.#spec = spec
    this.#tools = tools
    mkdirSync(tools.folder, { recursive: true })
    this.ended = this.#run()
  }

  /** Programs that serve are started again when they end, as a kubelet does; the containers of a Job run once. */
  async #run(): Promise<void> {
    for (const container of [...(this.#spec.initContainers ?? []), ...this.#spec.containers])
      for (;;) {
        if (this.#isEnding) return
        this.exit = undefined
        const code = await this.#process(container)
        this.exit = code
        if (container.readinessProbe === undefined) {
          if (code !== 0) return
          break
        }
        await new Promise((later) => setTimeout(later, AGAIN_MS))
      }
  }

  async #process(container: Container): Promise<number> {
    const env = await this.#env(container)
    if (env === undefined) return NO_CONFIG
    if (this.#isEnding) return ENDED
    const [program = '', ...words] = container.command.map((word) => this.#here(word, container, env))
    const { file, more } = this.#tools.programOf(program, container.image)
    // Of the container that runs, or ran last: a sign of an earlier one counts no longer.
    const log = openSync(this.#logOf(container.name), 'w')
    const [command = file, ...rest] = [...withUs, file, ...words, ...more]
    const child = spawn(command, rest, {
      stdio: ['ignore', log, log],
      env: { PATH: process.env['PATH'] ?? '', ...env },
    })
    closeSync(log)
    this.#child = child
    return new Promise((done) => {
      child.once('error', () => done(127))
      child.once('exit', (code, signal) => done(signal === null ? (code ?? 1) : ENDED))
    })
  }

  /** As a kubelet has it whenever it starts a container. Undefined: a ConfigMap is not there, and it waits for it. */
  async #env({ env = [] }: Container): Promise<Readonly<Record<string, string>> | undefined> {
    const values: Record<string, string> = {}
    for (const { name, value, valueFrom } of env) {
      const of = valueFrom?.configMapKeyRef
      const found = of === undefined ? (value ?? this.#tools.name) : await this.#tools.valueOf(of.name, of.key)
      if (found === undefined) return undefined
      values[name] = found
    }
    return values
  }

  #here(word: string, { volumeMounts = [] }: Container, env: Readonly<Record<string, string>>): string {
    const { name, namespace, portOf, volumes } = this.#tools
    let here = word
      .replaceAll(/\$\((\w+)\)/g, (all, of: string) => env[of] ?? all)
      .replaceAll(
        new RegExp(`(etcd-\\d+)\\.etcd\\.${namespace}\\.svc:(\\d+)`, 'g'),
        (_, pod: string, port: string) => `${HOST}:${portOf(pod, Number(port))}`,
      )
      .replaceAll(/0\.0\.0\.0:(\d+)/g, (_, port: string) => `${HOST}:${portOf(name, Number(port))}`)
      .replaceAll('0.0.0.0', HOST)
      .replace(/^--secure-port=(\d+)$/, (_, port: string) => `--secure-port=${portOf(name, Number(port))}`)
    for (const { name: volume, mountPath } of volumeMounts)
      here = here.replaceAll(new RegExp(`${mountPath}(?=/|$)`, 'g'), volumes[volume] ?? mountPath)
    return here
  }

  /** As a kubelet asks: the certificate of a probe is not checked. */
  async isReady(): Promise<boolean> {
    const [container] = this.#spec.containers
    const probe = container?.readinessProbe?.httpGet
    if (this.#child === undefined || this.exit !== undefined || probe === undefined) return false
    const options = {
      host: HOST,
      port: this.#tools.portOf(this.#tools.name, probe.port),
      path: probe.path,
      timeout: 3_000,
    }
    return new Promise((resolve) => {
      const asked =
        probe.scheme === 'HTTPS' ? request({ ...options, rejectUnauthorized: false }) : plainRequest(options)
      asked.once('response', (answer) => {
        answer.resume()
        resolve(answer.statusCode === 200)
      })
      asked.once('timeout', () => asked.destroy())
      asked.once('error', () => resolve(false))
      asked.end()
    })
  }

  logOf(container: string): string {
    const file = this.#logOf(container)
    return existsSync(file) ? readFileSync(file, 'utf8') : ''
  }

  async end(graceMs: number): Promise<void> {
    this.#isEnding = true
    const child = this.#child
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), graceMs)
      await this.ended
      clearTimeout(late)
    }
  }

  #logOf = (container: string): string => join(this.#tools.folder, `${container}.log`)
}

/** Files of a Secret or ConfigMap, readable by its owner alone. */
export function writeFiles(folder: string, files: Readonly<Record<string, string | Buffer>>): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content, { mode: 0o600 })
}
