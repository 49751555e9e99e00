// Keeps a cluster's credentials in Secrets of its own namespace: reads them and creates what the graph orders, one write at a time. A second leader, a lost
// reply or a kill between two writes leads to the same credentials, because existing ones are only changed at the version that was read.
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { outcomeOf, type WriteOutcome } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { credentials, type CredentialGraph, type CredentialInputs, type Order } from './graph.ts'
import type { Held } from './held.ts'
import { carryOut } from './make.ts'
import type { Recipe } from './recipe.ts'
import { credentialSecret, credentialSecretName, heldIn } from './secrets.ts'
import { defined } from '#lib/defined.ts'

const secrets = coreKind('Secret')

/** A recipe's longest chain has about thirty items. More is a bug, which must not write forever. */
const MOST_WRITES = 200

export interface KeepTools {
  readonly client: Pick<KubeClient, 'list' | 'create' | 'update' | 'delete'>
  /** Belongs to this cluster only. */
  readonly namespace: string
  readonly fieldManager: string
  readonly now: () => number
  /** Nodes and a store depend on them: any missing item is a loss, even if all are missing. */
  readonly hasServed?: boolean
  readonly signal?: AbortSignal
}

export type Kept =
  | { readonly kind: 'Kept'; readonly held: Held; readonly graph: CredentialGraph }
  /** Secrets that are unreadable, or missing while others depend on them. Nothing is created: a new authority would cut off every node. */
  | { readonly kind: 'Damaged'; readonly secrets: readonly string[] }
  /** Another client wrote in between, or a write's outcome is unknown: read again. */
  | { readonly kind: 'Again'; readonly why: string }
  /** The server refuses a write. */
  | { readonly kind: 'Refused'; readonly why: string }

export async function keepCredentials(tools: KeepTools, inputs: CredentialInputs): Promise<Kept> {
  const { client, namespace, signal, now } = tools
  const found = new Map<string, KubeObject>()
  for (const secret of await listAll(client, secrets, { namespace, ...defined({ signal }) }))
    found.set(secret.metadata.name ?? '', secret)
  for (let writes = 0; writes < MOST_WRITES; writes++) {
    const { held, damaged } = heldIn([...found.values()])
    const lost = lostRoots(inputs.recipe, held, tools.hasServed).map(credentialSecretName)
    const bad = [...new Set([...damaged, ...lost])].toSorted()
    if (bad.length > 0) return { kind: 'Damaged', secrets: bad }
    const graph = credentials(inputs, now(), held)
    const [order] = graph.orders
    if (order === undefined) return { kind: 'Kept', held, graph }
    const name = credentialSecretName(order.name)
    const outcome = await written(tools, order, held, found.get(name))
    switch (outcome.kind) {
      case 'Applied':
        if (outcome.object === undefined) found.delete(name)
        else found.set(name, outcome.object)
        break
      case 'Denied':
        return { kind: 'Refused', why: outcome.error.message }
      case 'Conflict':
      case 'Exists':
      case 'Stale':
      case 'Unknown':
        return { kind: 'Again', why: outcome.error.message }
      default:
        return outcome satisfies never
    }
  }
  throw new Error('the credentials never settle')
}

/**
 * Missing items that others were derived from. The graph creates them first, so this is a loss, not a start; a new sealing key could not open what the lost one
 * sealed.
 */
function lostRoots(
  { authorities, keySets, sealingKeys = [], leaves }: Recipe,
  held: Held,
  hasServed = false,
): readonly string[] {
  const made = leaves.filter(({ name }) => held[name] !== undefined)
  return [
    ...authorities.filter(({ name }) => hasServed || made.some(({ authority }) => authority === name)),
    ...(hasServed || made.length > 0 ? [...keySets, ...sealingKeys] : []),
  ]
    .map(({ name }) => name)
    .filter((name) => held[name] === undefined)
}

function written(
  { client, namespace, fieldManager, now, signal }: KeepTools,
  order: Order,
  held: Held,
  before: KubeObject | undefined,
): Promise<WriteOutcome<KubeObject | undefined>> {
  const item = carryOut(order, now(), held)
  const options = { fieldManager, ...defined({ signal }) }
  if (item === undefined) return outcomeOf(() => removed(client, before, signal))
  const secret = credentialSecret(namespace, order.name, item)
  if (before === undefined) return outcomeOf(() => client.create(secrets, secret, options))
  return outcomeOf(() => client.update(secrets, { ...before, data: secret.data }, options))
}

async function removed(
  client: KeepTools['client'],
  before: KubeObject | undefined,
  signal: AbortSignal | undefined,
): Promise<undefined> {
  const { name = '', namespace = '', uid, resourceVersion } = before?.metadata ?? {}
  if (name === '') return
  const preconditions = defined({ uid, resourceVersion })
  await client.delete(secrets, { name, namespace }, { preconditions, ...defined({ signal }) })
}
