// Runs control planes from Kubernetes' own programs on one machine: etcd, kube-apiserver, kube-controller-manager and optionally a scheduler as processes of
// each. For local fleets: snapshots stop the control plane during a copy, and nothing is spread across machines.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Credentials, credentialsIn, keepCredentials, trustedBy } from '#lib/x509/server-keys.ts'
import type { Snapshot } from '../../port.ts'
import { missingPrograms } from '../../programs.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import { makePrivateFolder } from '#lib/private-folder.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { embeddedErrors } from '../embedded-errors.ts'
import type { EngineServer, EngineStart, PlaneEngine, SnapshotRequest } from '../engine.ts'
import type { PlaneFolder } from '../plane-folders.ts'
import { requireName } from '../snapshot-name.ts'
import { etcdFlags, etcdUrl, managerFlags, type ProgramPlaces, schedulerFlags, serverFlags, storeIn } from './flags.ts'
import { writeKeys } from './keys.ts'
import { freePorts, untilAnswer } from './ready.ts'
import { endLeft, RunningPrograms } from './running.ts'
import { etcdClient, raiseRevision, storeFacts, type StoreOf } from './store.ts'

const VERSION_WITHIN_MS = 20_000

export async function programEngine(folder: string, clock: Clock = systemClock): Promise<PlaneEngine> {
  const minor = await minorOf(folder)
  return new ProgramEngine(folder, minor, clock)
}

async function minorOf(folder: string): Promise<string> {
  const fail = (why: string, cause?: unknown) => new KubeNodeError(embeddedErrors.KN1097({ folder, why }), { cause })
  const missing = missingPrograms(folder)
  if (missing.length > 0) throw fail(`${missing.join(', ')} not found`)
  const run = promisify(execFile)
  const output = await run(join(folder, 'kube-apiserver'), ['--version'], { timeout: VERSION_WITHIN_MS }).catch(
    (e: unknown) => {
      throw fail(messageOf(e), e)
    },
  )
  const minor = /^Kubernetes v(\d+\.\d+)\./.exec(output.stdout.trim())?.[1]
  if (minor === undefined) throw fail('kube-apiserver --version prints no version of Kubernetes')
  return minor
}

class ProgramEngine implements PlaneEngine {
  readonly minors: readonly string[]
  readonly #folder: string
  readonly #clock: Clock

  constructor(folder: string, minor: string, clock: Clock) {
    this.#folder = folder
    this.minors = [minor]
    this.#clock = clock
  }

  /** A restore moves the store into place with two renames. */
  mend({ root, data }: PlaneFolder): void {
    const { old } = partsOf(root)
    if (!existsSync(storeIn(data)) && existsSync(old)) renameSync(old, storeIn(data))
  }

  async start({ data, port, host, signal }: EngineStart): Promise<EngineServer> {
    makePrivateFolder(data)
    if (existsSync(join(data, 'objects.db')))
      throw new Error(
        'the control plane was made with the embedded server; start without its programs, or make it again',
      )
    await endLeft(data, this.#clock)
    const chosen = port === 0 ? (await freePorts(1))[0] : port
    const own = join(data, 'pki')
    const url = `https://${isIPv6(host) ? `[${host}]` : host}:${chosen}`
    const started = { data, url, host, port: chosen ?? 0 }
    let credentials = credentialsIn(own, this.#clock.now(), [host])
    let programs = await this.#launch(started, credentials)
    const ended = Promise.withResolvers<void>()
    const follow = (followed: RunningPrograms): void =>
      void followed.failed.catch((e: unknown) => {
        void followed.stop().then(() => ended.reject(e))
      })
    follow(programs)
    const stop = (): void => void programs.stop().then(() => ended.resolve(), ended.reject)
    signal.addEventListener('abort', stop, { once: true })
    const replaceCredentials = async (next: Credentials): Promise<void> => {
      keepCredentials(own, next)
      credentials = next
      await programs.stop()
      programs = await this.#launch(started, next).catch((e: unknown) => {
        ended.reject(e)
        throw e
      })
      follow(programs)
    }
    return { url, credentials: () => credentials, replaceCredentials, ended: ended.promise }
  }

  async #launch(at: Launched, credentials: Credentials): Promise<RunningPrograms> {
    const { data, url, host, port } = at
    const clock = this.#clock
    const keys = join(data, 'keys')
    const [etcdPort = 0, peerPort = 0, managerPort = 0, schedulerPort = 0] = await freePorts(4)
    const places: ProgramPlaces = { data, keys, host, port, etcdPort, peerPort, managerPort, schedulerPort }
    const ofEtcd = writeKeys(keys, { credentials, url, now: clock.now() })
    const programs = new RunningPrograms(data, clock)
    const { failed } = programs
    const { admin } = credentials
    const store = etcdClient(etcdUrl(places), ofEtcd)
    const client = new HttpKubeClient({
      server: url,
      ca: { data: trustedBy(credentials) },
      clientCertificate: { cert: { data: admin.certificate }, key: { data: admin.key } },
    })
    try {
      programs.start('etcd', this.#file('etcd'), etcdFlags(places))
      await untilAnswer({ what: 'etcd', path: '/health', client: store, failed, clock })
      programs.start('kube-apiserver', this.#file('kube-apiserver'), serverFlags(places))
      await untilAnswer({ what: 'kube-apiserver', path: '/readyz', client, failed, clock })
      // They exit if no server answers them within seconds.
      programs.start('kube-controller-manager', this.#file('kube-controller-manager'), managerFlags(places))
      if (existsSync(this.#file('kube-scheduler')))
        programs.start('kube-scheduler', this.#file('kube-scheduler'), schedulerFlags(places))
      const user = 'kubernetes-admin'
      const text = kubeconfigText({ url, authority: trustedBy(credentials), client: admin, user })
      writeWholeFile(join(data, 'admin.kubeconfig'), text)
      return programs
    } catch (e) {
      await programs.stop()
      throw e
    } finally {
      store.close()
      client.close()
    }
  }

  async snapshot(
    { data, snapshots }: PlaneFolder,
    { name, version, now }: SnapshotRequest,
    paused: <T>(work: () => Promise<T>) => Promise<T>,
  ): Promise<Snapshot> {
    requireName(name)
    const [copy, description] = [join(snapshots, `${name}.db`), join(snapshots, `${name}.json`)]
    if (existsSync(description)) return JSON.parse(readFileSync(description, 'utf8')) as Snapshot
    rmSync(copy, { recursive: true, force: true })
    return paused(async () => {
      const { objects, revision } = await storeFacts(this.#store(data))
      cpSync(storeIn(data), copy, { recursive: true })
      const taken: Snapshot = { name, takenAt: timestamp(now), bytes: bytesIn(copy), revision, objects, version }
      writeWholeFile(description, `${JSON.stringify(taken, null, 2)}\n`)
      return taken
    })
  }

  async restore(
    { root, data, snapshots }: PlaneFolder,
    { name }: Omit<SnapshotRequest, 'version'>,
    halt: () => Promise<void>,
  ): Promise<boolean> {
    requireName(name)
    const copy = join(snapshots, `${name}.db`)
    if (!existsSync(join(snapshots, `${name}.json`)) || !existsSync(copy)) return false
    const { next, old } = partsOf(root)
    for (const part of [next, old]) rmSync(part, { recursive: true, force: true })
    await halt()
    // An unreadable store may be the reason for the restore.
    const before = await storeFacts(this.#store(data)).catch(() => undefined)
    cpSync(copy, storeIn(next), { recursive: true })
    await raiseRevision(this.#store(next), before?.revision ?? 0)
    renameSync(storeIn(data), old)
    renameSync(storeIn(next), storeIn(data))
    for (const part of [next, old]) rmSync(part, { recursive: true, force: true })
    return true
  }

  #file = (name: string): string => join(this.#folder, name)

  #store = (data: string): StoreOf => ({
    etcd: this.#file('etcd'),
    data,
    keys: join(data, 'keys'),
    clock: this.#clock,
  })
}

interface Launched {
  readonly data: string
  readonly url: string
  readonly host: string
  readonly port: number
}

const partsOf = (root: string) => ({ next: join(root, 'data.next'), old: join(root, 'etcd.old') })

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .reduce((sum, e) => sum + statSync(join(e.parentPath, e.name)).size, 0)
