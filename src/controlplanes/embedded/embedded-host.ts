// Runs the control planes of flavor embedded, one per Cluster: API servers in this process or others, or programs that another engine starts instead. Restarts
// any that exit on their own. All its state is on disk, so a killed host recovers by reading its folder.
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { defined } from '#lib/defined.ts'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { authoritiesIn, credentialsIn, keepCredentials, trustedBy, type Credentials } from '#lib/x509/server-keys.ts'
import { KeyedLock } from '#lib/keyed-lock.ts'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import type {
  ControlPlane,
  ControlPlaneHost,
  ControlPlaneRequest,
  HostCapabilities,
  PutResult,
  RestoreResult,
  RotationRequest,
  Snapshot,
} from '../port.ts'
import type { Recipe } from '../credentials/recipe.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { EMBEDDED } from './embedded.ts'
import type { PlaneEngine } from './engine.ts'
import { type Asked, forgetCredentials, HOST_RECIPE, keptCredentials, ownedBy } from './plane-credentials.ts'
import { PlaneFolders, type PlaneRecord } from './plane-folders.ts'

const LOOPBACK = '127.0.0.1'
const DAY_MS = 86_400_000
/** For a control plane that exited on its own; doubles each time. */
const FIRST_RESTART_MS = 200
const LAST_RESTART_MS = 10_000
/** A run this long resets the restart delay. */
const GOOD_RUN_MS = 30_000

export interface EmbeddedHostOptions {
  /** The folder of all control planes. */
  readonly root: string
  readonly clock: Clock
  readonly most?: number
  /** The servers' listen address; loopback if left out. */
  readonly listen?: string
  /** Name or address for clients, in endpoints and new certificates; `listen` if left out. */
  readonly address?: string
  /** Each takes the first free port from here on; any port of the system if left out. */
  readonly firstPort?: number
  /** The embedded server if left out. */
  readonly engine: PlaneEngine
  /** The servers' credentials, and the pace of their rotation. */
  readonly recipe?: Recipe
  /** A control plane exited on its own and restarts after this delay. */
  readonly onEnd?: (id: string, why: string, againInMs: number) => void
}

/** The id is `namespace.name`, and a namespace has no dot. */
const tenantOf = (id: string): string => id.split('.', 1)[0] ?? id

interface Serving {
  readonly version: string
  readonly url: string
  readonly credentials: () => Credentials
  readonly replace: (next: Credentials) => Promise<void>
  readonly stop: () => Promise<void>
}

export class EmbeddedHost implements ControlPlaneHost {
  readonly name = EMBEDDED.name
  readonly capabilities: HostCapabilities
  readonly #options: EmbeddedHostOptions
  readonly #folders: PlaneFolders
  readonly #engine: PlaneEngine
  readonly #serving = new Map<string, Serving>()
  /** Why a control plane could not be started. */
  readonly #failures = new Map<string, string>()
  /** The last request for each; the rotation report depends on it. */
  readonly #rotations = new Map<string, RotationRequest>()
  /** One operation at a time per id. */
  readonly #locks = new KeyedLock({ what: 'changes of one control plane' })
  /** How often each exited on its own without a good run in between. */
  readonly #ends = new Map<string, number>()
  #isClosed = false

  constructor(options: EmbeddedHostOptions) {
    this.#options = options
    this.#engine = options.engine
    this.#folders = new PlaneFolders(options.root)
    const { minors } = this.#engine
    this.capabilities = { ...EMBEDDED.capabilities, minors, most: options.most ?? EMBEDDED.capabilities.most }
  }

  /** Starts every control plane on disk that is not stopped. One that cannot start is Failed, and does not delay the others. */
  async open(): Promise<void> {
    this.#folders.tidy(this.#options.clock.now())
    await Promise.all(
      this.#folders
        .all()
        .filter((record) => !record.isStopped)
        .map((record) => this.#locks.run(record.id, () => this.#serve(record))),
    )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#serving.keys()].map((id) => this.#locks.run(id, () => this.#halt(id))))
    await this.#engine.close?.()
  }

  put(request: ControlPlaneRequest): Promise<PutResult> {
    return this.#locks.run(request.id, async () => {
      const known = this.#folders.read(request.id)
      const refused = this.#refusal(request, known)
      if (refused !== undefined) return refused
      const port = request.port ?? known?.port ?? this.#freePort()
      const wanted: PlaneRecord = {
        id: request.id,
        owner: request.owner,
        version: request.version,
        isStopped: false,
        ...defined({ port, restored: known?.restored }),
      }
      const serving = this.#serving.get(request.id)
      const hasChanged = serving?.version !== wanted.version || known?.port !== port || known?.isStopped !== false
      this.#folders.write(wanted)
      if (serving !== undefined && hasChanged) await this.#halt(request.id)
      await this.#give(request)
      if (!this.#serving.has(request.id)) await this.#serve(wanted, request.rotation)
      await this.#keep(this.#folders.read(request.id) ?? wanted, request.rotation)
      return { kind: 'Plane', plane: this.#planeOf(this.#folders.read(request.id) ?? wanted) }
    })
  }

  async get(id: string): Promise<ControlPlane | undefined> {
    const record = this.#folders.read(id)
    return record === undefined ? undefined : this.#planeOf(record)
  }

  async list(): Promise<readonly ControlPlane[]> {
    return this.#folders.all().map((record) => this.#planeOf(record))
  }

  async kubeconfig(id: string, identity: Parameters<ControlPlaneHost['kubeconfig']>[1]): Promise<string | undefined> {
    const record = this.#folders.read(id)
    if (record?.port === undefined) return undefined
    const credentials = this.#credentials(id)
    const { authority } = credentials
    const client = issueCertificate(authority, {
      subject: { commonName: identity.user, organizations: identity.groups },
      validity: { now: this.#options.clock.now(), days: identity.lifeMs / DAY_MS },
      usage: 'client',
    })
    return kubeconfigText({ url: this.#urlOf(record), authority: trustedBy(credentials), client, user: identity.user })
  }

  stop(id: string): Promise<'Stopped' | 'Gone'> {
    return this.#locks.run(id, async () => {
      const record = this.#folders.read(id)
      if (record === undefined) return 'Gone'
      this.#folders.write({ ...record, isStopped: true })
      await this.#halt(id)
      return 'Stopped'
    })
  }

  snapshot(id: string, name: string): Promise<Snapshot | 'Gone'> {
    return this.#locks.run(id, async () => {
      const record = this.#folders.read(id)
      if (record === undefined) return 'Gone'
      const now = this.#options.clock.now()
      const wanted = { name, version: record.version, now }
      const taken = await this.#engine.snapshot(this.#folders.of(id), wanted, (work) => this.#paused(record, work))
      this.#folders.keepNewest(id, name)
      return taken
    })
  }

  drop(id: string, names: readonly string[]): Promise<'Dropped' | 'Gone'> {
    return this.#locks.run(id, async () => {
      if (this.#folders.read(id) === undefined) return 'Gone'
      this.#folders.drop(id, names)
      return 'Dropped'
    })
  }

  restore(
    id: string,
    { snapshot, token }: { readonly snapshot: string; readonly token: string },
  ): Promise<RestoreResult> {
    return this.#locks.run(id, async () => {
      const record = this.#folders.read(id)
      if (record === undefined) return 'Gone'
      if (record.restored === token) return 'Restored'
      const wasServing = this.#serving.has(id)
      const now = this.#options.clock.now()
      const isDone = await this.#engine.restore(this.#folders.of(id), { name: snapshot, now }, () => this.#halt(id))
      const after = isDone ? { ...record, restored: token } : record
      if (isDone) this.#folders.write(after)
      if ((wasServing || !record.isStopped) && !this.#serving.has(id)) await this.#serve(after)
      return isDone ? 'Restored' : 'NoSnapshot'
    })
  }

  delete(
    id: string,
    { owner, keep }: { readonly owner: string; readonly keep?: string },
  ): Promise<'Deleted' | 'Gone' | 'Owned'> {
    return this.#locks.run(id, async () => {
      const record = this.#folders.read(id)
      if (record === undefined) return 'Gone'
      if (record.owner !== owner) return 'Owned'
      await this.#halt(id)
      this.#folders.remove(id, keep, this.#options.clock.now())
      this.#failures.delete(id)
      this.#rotations.delete(id)
      this.#ends.delete(id)
      return 'Deleted'
    })
  }

  #refusal({ id, version, port }: ControlPlaneRequest, known: PlaneRecord | undefined): PutResult | undefined {
    const { minors, most } = this.capabilities
    if (!minors.includes(version.split('.').slice(0, 2).join('.')))
      return {
        kind: 'Refused',
        reason: 'VersionNotServed',
        message: `version ${version} is not served here; this host serves ${minors.join(', ')}: set spec.version of the Cluster in git`,
      }
    const others = this.#folders.all().filter((r) => r.id !== id)
    const holder = port === undefined ? undefined : others.find((r) => r.port === port)
    if (holder !== undefined)
      return { kind: 'Refused', reason: 'EndpointTaken', message: `port ${port} belongs to ${holder.id}` }
    if (known === undefined && others.length >= most)
      return {
        kind: 'Refused',
        reason: 'HostFull',
        message: `${others.length} of ${most} control planes are on this host; delete one first`,
      }
    return undefined
  }

  /** On disk first: a host killed here starts the server with them. */
  async #give({ id, credentials }: ControlPlaneRequest): Promise<void> {
    const serving = this.#serving.get(id)
    if (credentials === undefined || serving?.credentials().digest === credentials.digest) return
    if (serving === undefined) keepCredentials(this.#keysOf(id), credentials)
    else await serving.replace(credentials)
    forgetCredentials(this.#keysOf(id))
  }

  /** Repeats until nothing is left to create and the server runs with all of it. */
  async #keep(record: PlaneRecord, rotation?: RotationRequest): Promise<void> {
    const { id } = record
    if (rotation !== undefined) this.#rotations.set(id, rotation)
    for (;;) {
      const serving = this.#serving.get(id)
      const next = keptCredentials(this.#keysOf(id), this.#asked(record, rotation))
      if (next === undefined || next.digest === serving?.credentials().digest) return
      if (serving === undefined) {
        // Do not rewrite what is on disk already: a server that needs nothing new starts even on a full disk.
        if (authoritiesIn(this.#keysOf(id))?.digest !== next.digest) keepCredentials(this.#keysOf(id), next)
        return
      }
      await serving.replace(next)
    }
  }

  #asked(record: PlaneRecord, rotation: RotationRequest | undefined): Asked {
    return {
      recipe: this.#options.recipe ?? HOST_RECIPE,
      now: this.#options.clock.now(),
      endpoint: this.#urlOf(record),
      hosts: [this.#listen, this.#address],
      running: this.#serving.get(record.id)?.credentials().digest,
      rotation,
    }
  }

  /** Records and reports a failure; the next `put` retries. */
  async #serve(record: PlaneRecord, rotation?: RotationRequest): Promise<void> {
    if (this.#isClosed) return
    const ending = new AbortController()
    try {
      this.#engine.mend(this.#folders.of(record.id))
      // Created first, with the clients' names; otherwise the server would create them without.
      await this.#keep(record, rotation)
      const running = await this.#engine.start({
        data: this.#folders.of(record.id).data,
        tenant: tenantOf(record.id),
        port: record.port ?? 0,
        host: this.#listen,
        version: record.version,
        signal: ending.signal,
      })
      const stop = async (): Promise<void> => {
        ending.abort()
        await running.ended
      }
      const { url, credentials, replaceCredentials: replace } = running
      const serving: Serving = { version: record.version, url, credentials, replace, stop }
      const since = this.#options.clock.monotonic()
      this.#serving.set(record.id, serving)
      this.#failures.delete(record.id)
      if (record.port === undefined) this.#folders.write({ ...record, port: Number(new URL(running.url).port) })
      running.ended.catch((e: unknown) => {
        if (this.#serving.get(record.id) !== serving) return
        this.#serving.delete(record.id)
        if (this.#options.clock.monotonic() - since > GOOD_RUN_MS) this.#ends.delete(record.id)
        this.#startAgain(record.id, messageOf(e))
      })
    } catch (e) {
      this.#failures.set(record.id, messageOf(e))
    }
  }

  /** Unless it was stopped, deleted, or started by a request meanwhile. */
  #startAgain(id: string, why: string): void {
    this.#failures.set(id, why)
    const ends = this.#ends.get(id) ?? 0
    this.#ends.set(id, ends + 1)
    const waitMs = Math.min(LAST_RESTART_MS, FIRST_RESTART_MS * 2 ** ends)
    this.#options.onEnd?.(id, why, waitMs)
    this.#options.clock.after(waitMs, () => {
      void this.#locks.run(id, async () => {
        const record = this.#folders.read(id)
        if (this.#isClosed || record === undefined || record.isStopped || this.#serving.has(id)) return
        await this.#serve(record, this.#rotations.get(id))
        const again = this.#failures.get(id)
        if (!this.#serving.has(id) && again !== undefined) this.#startAgain(id, again)
      })
    })
  }

  async #paused<T>(record: PlaneRecord, work: () => Promise<T>): Promise<T> {
    const wasServing = this.#serving.has(record.id)
    await this.#halt(record.id)
    try {
      return await work()
    } finally {
      if (wasServing) await this.#serve(record)
    }
  }

  async #halt(id: string): Promise<void> {
    const serving = this.#serving.get(id)
    this.#serving.delete(id)
    await serving?.stop()
  }

  #planeOf(record: PlaneRecord): ControlPlane {
    const { id, owner, version, port = 0, restored, isStopped } = record
    const message = this.#failures.get(id)
    const isServing = this.#serving.has(id)
    const known = authoritiesIn(this.#keysOf(id))
    const own = ownedBy(this.#keysOf(id), this.#asked(record, this.#rotations.get(id)))
    return {
      id,
      owner,
      version,
      port,
      state: isServing ? 'Running' : isStopped ? 'Stopped' : message === undefined ? 'Starting' : 'Failed',
      ...(!isServing && message !== undefined && { message }),
      endpoint: this.#urlOf(record),
      ca: known?.trusted ?? '',
      ...(isServing && known?.digest !== undefined && { credentials: known.digest }),
      ...defined({ own }),
      snapshots: this.#folders.snapshotsOf(id),
      ...defined({ restored }),
    }
  }

  #credentials(id: string) {
    return credentialsIn(this.#keysOf(id), this.#options.clock.now(), [this.#listen, this.#address])
  }

  get #listen(): string {
    return this.#options.listen ?? LOOPBACK
  }

  get #address(): string {
    return this.#options.address ?? this.#listen
  }

  #urlOf({ port = 0 }: PlaneRecord): string {
    return `https://${isIPv6(this.#address) ? `[${this.#address}]` : this.#address}:${port}`
  }

  /** A port that no other control plane has, even a stopped one. */
  #freePort(): number | undefined {
    const { firstPort } = this.#options
    if (firstPort === undefined) return undefined
    const taken = new Set(this.#folders.all().map((r) => r.port))
    const ports = Array.from({ length: this.capabilities.most }, (_, n) => firstPort + n)
    return ports.find((port) => !taken.has(port))
  }

  #keysOf = (id: string): string => join(this.#folders.of(id).data, 'pki')
}
