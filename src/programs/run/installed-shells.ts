// Recreates ConfigMaps and Secrets of the installation that another client deleted. They are created empty, as the release ships them, and their programs fill
// them, so the right to create them gives the controllers nothing.
import { FIELD_MANAGERS, metricsSecretName, REVOKED_AGENTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { RepeatedLine } from '#lib/repeated-line.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import type { Part } from '#runtime/manager.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** On a kube-apiserver, a missing list of revoked agents lets every agent in. */
const CHECK_MS = 5_000
/** Seven reads in every check would be too many for metrics. */
const SECRETS_EVERY = 12

const TYPES = { ConfigMap: coreKind('ConfigMap'), Secret: coreKind('Secret') } as const
type Shell = KubeObject & { readonly kind: keyof typeof TYPES }

/** What deploy/charts/system.ts ships without content; a test compares the two. */
export const shellsOf = (programs: readonly string[]): readonly Shell[] => [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: REVOKED_AGENTS, namespace: SYSTEM_NAMESPACE },
  },
  ...programs.map((program): Shell => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: metricsSecretName(program), namespace: SYSTEM_NAMESPACE },
    type: 'Opaque',
  })),
]

export interface InstalledShellsOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly shells: readonly Shell[]
}

export class InstalledShells implements Part {
  readonly name = 'installed-shells'
  readonly #options: InstalledShellsOptions
  readonly #looking: RepeatedCheck
  readonly #trouble: RepeatedLine
  #checks = 0
  /** Shells observed at least once: a cluster without an installation gets none. */
  readonly #installed = new Set<Shell>()

  constructor(options: InstalledShellsOptions) {
    this.#options = options
    this.#looking = new RepeatedCheck(options.clock)
    this.#trouble = new RepeatedLine(options.clock)
  }

  start(): void {
    this.#looking.start(
      () => CHECK_MS,
      () => this.check(),
    )
  }

  stop(): Promise<void> {
    return this.#looking.stop()
  }

  async check(): Promise<void> {
    const { log, shells } = this.#options
    const isFull = this.#checks++ % SECRETS_EVERY === 0
    try {
      const missing: Shell[] = []
      for (const shell of shells.filter((s) => isFull || s.kind === 'ConfigMap'))
        if (await this.#isThere(shell)) this.#installed.add(shell)
        else missing.push(shell)
      // One remaining shell shows that the others were deleted, even before this program started.
      if (this.#installed.size > 0) for (const shell of missing) await this.#make(shell)
      this.#trouble.ended()
    } catch (error) {
      if (this.#looking.signal.aborted) return
      const why = messageOf(error)
      const due = this.#trouble.due(why)
      if (due !== undefined) log.error('cannot restore objects of the installation', { error: why, ...due })
    }
  }

  /** Secrets are read by name and never listed. The controllers may list all ConfigMaps. */
  async #isThere({ kind, metadata: { name = '' } }: Shell): Promise<boolean> {
    const { client } = this.#options
    const { signal } = this.#looking
    const namespace = SYSTEM_NAMESPACE
    if (kind === 'Secret') return (await client.get(TYPES.Secret, { namespace, name }, { signal })) !== undefined
    const fieldSelector = `metadata.name=${name}`
    const { items } = await client.list(TYPES.ConfigMap, { namespace, fieldSelector, limit: 1, signal })
    return items.length > 0
  }

  async #make(shell: Shell): Promise<void> {
    const { client, log } = this.#options
    try {
      await client.create(TYPES[shell.kind], shell, { fieldManager: FIELD_MANAGERS.install })
      log.warn('restored an object of the installation that was deleted', {
        kind: shell.kind,
        object: shell.metadata.name,
      })
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
  }
}
