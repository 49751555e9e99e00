// Whether a permit that says it is a recovery is one: its component goes to the version that the set's last healthy revision has. The set says which
// revision that is, the revision says which version; the permit is believed in nothing.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ResourceType } from '#schema/resource.ts'

const revisionType: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  namespaced: true,
}

/** Revisions that are remembered; they never change, and a set has few. */
const MOST_REVISIONS = 256

/** The version that the data of a revision gives a component. */
export function versionIn(data: unknown, component: string): string | undefined {
  const components = isObject(data)
    ? (data['components'] ?? (isObject(data['spec']) ? data['spec']['components'] : undefined))
    : undefined
  if (!Array.isArray(components)) return undefined
  const entry: unknown = components.find((c) => isObject(c) && c['name'] === component)
  return isObject(entry) && typeof entry['version'] === 'string' ? entry['version'] : undefined
}

export class RecoveryWatch {
  readonly #client: KubeClient
  readonly #revisions = new Map<string, unknown>()
  #believed: ReadonlySet<string> = new Set()

  constructor(client: KubeClient) {
    this.#client = client
  }

  isRecovery(permit: OperationPermit): boolean {
    return this.#believed.has(permit.metadata.uid ?? '')
  }

  async observe(
    permits: readonly OperationPermit[],
    setNamed: (name: string) => MachineComponentSet | undefined,
  ): Promise<void> {
    const believed = new Set<string>()
    for (const permit of permits) if (await this.#isTrue(permit, setNamed)) believed.add(permit.metadata.uid ?? '')
    this.#believed = believed
  }

  async #isTrue(
    { spec }: OperationPermit,
    setNamed: (name: string) => MachineComponentSet | undefined,
  ): Promise<boolean> {
    const { recovery, requester, component, operations } = spec
    if (!recovery || requester.kind !== 'MachineComponentSet' || requester.name === undefined) return false
    if (component?.version === undefined || !operations.every((o) => o === 'SwitchComponent' || o === 'Drain'))
      return false
    const set = setNamed(requester.name)
    const revision = set?.status?.revisions?.current
    if (revision === undefined || (requester.uid !== undefined && requester.uid !== set?.metadata.uid)) return false
    return versionIn(await this.#dataOf(revision), component.name) === component.version
  }

  async #dataOf(name: string): Promise<unknown> {
    const known = this.#revisions.get(name)
    if (known !== undefined) return known
    const found = await this.#client.get(revisionType, { namespace: SYSTEM_NAMESPACE, name }).catch(() => undefined)
    if (found === undefined) return undefined
    if (this.#revisions.size >= MOST_REVISIONS) this.#revisions.clear()
    this.#revisions.set(name, found['data'])
    return found['data']
  }
}
