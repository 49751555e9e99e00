// The table of roles as single rights of single identities, and which of them a request used.
import { AGENT_VERB, AGENTS_NAMESPACE, BOOTSTRAP_GROUP, SYSTEM_NAMESPACE } from '#api/names.ts'
import { covers } from '#apiserver/auth/authorizer.ts'
import type { UsedRight } from '#apiserver/auth/used-rights.ts'
import { ROLES, type RoleEntry, type Subject } from '../../../deploy/charts/roles.ts'
import { defined } from '#lib/defined.ts'

/** Identity → rights, both sorted. */
export type RightsTable = Readonly<Record<string, readonly string[]>>

interface ShippedRight {
  /** A program by its role, whether it has a certificate or a service account. */
  readonly identity: string
  readonly text: string
  readonly subject: Subject
  readonly namespace: string | undefined
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly names: readonly string[] | undefined
}

const identityOf = ({ name }: Subject): string =>
  name === BOOTSTRAP_GROUP ? 'bootstrappers' : name.replace(/^kubenode[:-]/, '')

function expanded({ subjects, rules, namespace }: RoleEntry): readonly ShippedRight[] {
  return subjects.flatMap((subject) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames: names }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => {
            const of = group === '' ? resource : `${resource}.${group}`
            const named = names === undefined ? '' : ` named ${names.join(', ')}`
            const where = namespace === undefined ? '' : ` in ${namespace}`
            const text = `${verb} ${of}${named}${where}`
            return { identity: identityOf(subject), text, subject, namespace, verb, group, resource, names }
          }),
        ),
      ),
    ),
  )
}

const SHIPPED: readonly ShippedRight[] = ROLES.flatMap(expanded)

const isOf = (subject: Subject, { user, groups }: UsedRight): boolean => {
  if (subject.kind === 'Group') return groups.includes(subject.name)
  return user === (subject.kind === 'User' ? subject.name : `system:serviceaccount:${SYSTEM_NAMESPACE}:${subject.name}`)
}

const isFor = (right: ShippedRight, used: UsedRight): boolean =>
  (right.namespace === undefined || right.namespace === used.namespace) &&
  covers(
    {
      verbs: [right.verb],
      apiGroups: [right.group],
      resources: [right.resource],
      ...defined({ resourceNames: right.names }),
    },
    used,
  )

const narrowness = ({ names, namespace }: ShippedRight): number => (names ? 2 : 0) + (namespace === undefined ? 0 : 1)

/** What Kubernetes grants every identity: discovery, and questions about itself. */
const isForEverybody = ({ path, resource }: UsedRight): boolean => path !== undefined || resource.startsWith('self')

/** The approver gives the account of an agent this right on the names of its own Machine and Node, and can give only what it has itself. */
const isGivenOn = (right: ShippedRight, used: UsedRight): boolean =>
  right.verb === AGENT_VERB && used.user.startsWith(`system:serviceaccount:${AGENTS_NAMESPACE}:`) && isFor(right, used)

export type Credit =
  | { readonly kind: 'NotOurs' }
  | { readonly kind: 'Shipped'; readonly identity: string; readonly text: string }
  /** One of our identities did what no shipped role lets it do. */
  | { readonly kind: 'Foreign'; readonly text: string }

/** The narrowest right counts: a wide one that only narrow uses exercise is wider than needed. */
export function creditOf(used: UsedRight): Credit {
  // No role binds an administrator, which the program of clusters is in the control planes that it makes, and no program is elsewhere.
  if (used.groups.includes('system:masters')) return { kind: 'NotOurs' }
  const own = SHIPPED.filter((right) => isOf(right.subject, used))
  const [best] = own.filter((right) => isFor(right, used)).toSorted((a, b) => narrowness(b) - narrowness(a))
  if (best !== undefined) return { kind: 'Shipped', identity: best.identity, text: best.text }
  if (own.length === 0 || isForEverybody(used)) return { kind: 'NotOurs' }
  const given = SHIPPED.find((right) => isGivenOn(right, used))
  if (given !== undefined) return { kind: 'Shipped', identity: given.identity, text: given.text }
  const { user, verb, group, resource, subresource, namespace, name } = used
  return { kind: 'Foreign', text: `${user}: ${verb} ${group}/${resource}/${subresource} ${namespace}/${name}` }
}

export function tableOf(rights: Iterable<{ readonly identity: string; readonly text: string }>): RightsTable {
  const byIdentity = Map.groupBy(rights, (r) => r.identity)
  return Object.fromEntries(
    [...byIdentity]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([identity, of]) => [identity, [...new Set(of.map((r) => r.text))].toSorted()]),
  )
}

export const shippedRights = (): RightsTable => tableOf(SHIPPED)

export const flat = (table: RightsTable): readonly string[] =>
  Object.entries(table).flatMap(([identity, rights]) => rights.map((text) => `${identity}: ${text}`))
