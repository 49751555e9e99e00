// The agent's Node on the server: found, or created where no kubelet does it. Remembers the UID that permits and jobs name.
import { isObject } from '#lib/json.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists, isNotFound } from '#kube/errors.ts'
import { ANNOTATIONS, FIELD_MANAGERS, TAINTS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { HostFacts } from './facts.ts'
import { newNode } from './node-status.ts'
import { nodeType } from './types.ts'

export interface NodeObjectDeps {
  readonly client: KubeClient
  readonly log: Logger
  readonly name: string
  readonly facts: HostFacts
  /** UID of the Node's Machine. */
  readonly machineUid?: () => string | undefined
  /** False where a kubelet registers the Node, and when its Machine does not exist or is being deleted. Called before the Node is created. */
  readonly register: () => boolean | Promise<boolean>
}

export class NodeObject {
  readonly #deps: NodeObjectDeps
  #uid: string | undefined
  #making: Promise<KubeObject | undefined> | undefined

  constructor(deps: NodeObjectDeps) {
    this.#deps = deps
  }

  get knownUid(): string | undefined {
    return this.#uid
  }

  async uid(): Promise<string | undefined> {
    return this.#uid ?? (await this.#read())?.metadata.uid
  }

  /** Whether the Node still waits for its components, read right now; undefined when unknown. A Node that the agent creates itself is not waited for. */
  async isPending(): Promise<boolean | undefined> {
    try {
      const found = (await this.#read()) ?? ((await this.#deps.register()) ? await this.#make() : undefined)
      return found === undefined ? undefined : hasTaint(found, TAINTS.componentsPending)
    } catch (e) {
      this.#deps.log.info('cannot read whether the node waits for its components', { error: messageOf(e) })
      return undefined
    }
  }

  async applyStatus(object: KubeObject): Promise<void> {
    const { client, register } = this.#deps
    if (this.#uid === undefined && (await this.#read()) === undefined && (await register())) await this.#make()
    try {
      await client.apply(nodeType, object, { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' })
    } catch (e) {
      // The Node was deleted: the next try creates it again, with the taint that keeps pods away.
      if (isNotFound(e)) this.#uid = undefined
      throw e
    }
  }

  /** Removes everything that the agent reported on the Node. */
  async withdrawStatus(): Promise<void> {
    if ((await this.#read()) === undefined) return
    const nothing: KubeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: this.#deps.name }, status: {} }
    const options = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
    await this.#deps.client.apply(nodeType, nothing, options).catch((e: unknown) => {
      if (!isNotFound(e)) throw e
    })
  }

  async #read(): Promise<KubeObject | undefined> {
    const found = await this.#deps.client.get(nodeType, { name: this.#deps.name })
    this.#uid = found?.metadata.uid
    return found
  }

  /**
   * Components and the status ask for the Node at the same moment. Without sharing one call, all but one would conflict with a Node that they cannot read
   * yet.
   */
  #make(): Promise<KubeObject | undefined> {
    this.#making ??= this.#create().finally(() => {
      this.#making = undefined
    })
    return this.#making
  }

  async #create(): Promise<KubeObject | undefined> {
    const { client, name, facts, log } = this.#deps
    const uid = this.#deps.machineUid?.()
    const node = newNode({ name, facts })
    const annotations = uid === undefined ? {} : { [ANNOTATIONS.machineUid]: uid }
    const marked = { ...node, metadata: { ...node.metadata, ...(uid !== undefined && { annotations }) } }
    try {
      const made = await client.create(nodeType, marked, { fieldManager: FIELD_MANAGERS.agent })
      this.#uid = made.metadata.uid
      log.info('node registered', { node: name })
      return made
    } catch (e) {
      if (!isAlreadyExists(e)) throw e
      return this.#read()
    }
  }
}

function hasTaint(node: KubeObject, key: string): boolean {
  const spec = isObject(node['spec']) ? node['spec'] : {}
  const taints = Array.isArray(spec['taints']) ? spec['taints'] : []
  return taints.some((t) => isObject(t) && t['key'] === key)
}
