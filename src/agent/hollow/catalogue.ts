// Component data shared by all hollow nodes of a process: each statement and configuration is read once and never changes.
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { componentObjectName } from '#lib/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { componentConfig } from '#api/kinds/component-config.ts'
import { machineComponent, type MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ComponentVersion } from '#api/protocol/component-order.ts'
import { statementDigest } from '#api/trust/statement.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { Slot } from '../components/record.ts'
import { installedDigest, slotId } from '../components/slot.ts'
import type { StageRequest, Staged } from '../components/stage.ts'
import { agentErrors } from '../agent-errors.ts'

export class Catalogue {
  readonly #client: Pick<KubeClient, 'get'>
  readonly #staged = new Map<string, Promise<Staged>>()
  readonly #slots = new Map<string, Staged>()

  constructor(client: Pick<KubeClient, 'get'>) {
    this.#client = client
  }

  /** Stages like the agent, but without artifacts and trust, because there are none. */
  stage({ generation = 0, ...order }: StageRequest): Promise<Staged> {
    const key = JSON.stringify([order.name, order.version, order.config, generation])
    const known = this.#staged.get(key)
    if (known !== undefined) return known
    const fresh = this.#read(order, generation)
    this.#staged.set(key, fresh)
    // A missing object may appear later.
    fresh.catch(() => this.#staged.delete(key))
    return fresh
  }

  specOf(slot: string): MachineComponentSpec | undefined {
    return this.#slots.get(slot)?.spec
  }

  slot(id: string): Slot | undefined {
    return this.#slots.get(id)?.slot
  }

  async #read({ name: component, version, config }: ComponentVersion, generation: number): Promise<Staged> {
    const name = componentObjectName(component, version)
    const found = await this.#client.get(machineComponent, { name })
    if (found === undefined) throw missing(`install ${component} ${version}`, `MachineComponent ${name}`)
    const filled: unknown = applyDefaults(machineComponent.schema, found)
    const { spec } = filled as typeof found
    const configured = config === undefined ? undefined : await this.#client.get(componentConfig, { name: config })
    if (config !== undefined && configured === undefined)
      throw missing(`configure ${component}`, `ComponentConfig ${config}`)
    const digest = installedDigest(spec, configured?.spec.digest)
    const id = slotId(digest, generation)
    const statement = statementDigest(spec)
    const staged: Staged = {
      slot: { id, digest, statement, version, ...defined({ config }) },
      spec,
    }
    this.#slots.set(id, staged)
    return staged
  }
}

const missing = (what: string, which: string): KubeNodeError =>
  new KubeNodeError(agentErrors.KN8014_missing({ what, which }), { retry: 'later' })

export const isMissing = (e: unknown): boolean =>
  e instanceof KubeNodeError && e.code === agentErrors.KN8014_missing.code
