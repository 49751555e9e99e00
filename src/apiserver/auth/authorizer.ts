// Role-based access control: is this user allowed to do this? An index from subjects to rules is built from the stored roles and bindings
// and discarded whenever one of them changes.
import type { KubeObject } from '#api/schema/object.ts'
import type { Store } from '../storage/store.ts'
import { AUTHENTICATED, MASTERS, type RequestUser } from './user.ts'

export interface Attributes {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** Of a list or a watch. */
  readonly fieldSelector?: string
  /** Set for paths that are no resources. */
  readonly path?: string
}

/** Called for each request and each check of an admission policy that was allowed. */
export type OnAllowed = (user: RequestUser, attributes: Attributes) => void

export interface PolicyRule {
  readonly verbs?: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

interface Grant {
  /** '' for cluster-wide bindings. */
  readonly namespace: string
  readonly rules: readonly PolicyRule[]
  /** Which binding grants it, for reviews. */
  readonly reason: string
}

/** A second source of rights. Roles may still allow what it does not. */
export interface Authority {
  /** True: allowed. A text: the reason for no. Undefined: no opinion. */
  verdict(user: RequestUser, attributes: Attributes): true | string | undefined
}

export const RBAC = 'rbac.authorization.k8s.io'
const KINDS = ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'] as const

export class Authorizer {
  readonly #store: Store
  readonly #nodes: Authority | undefined
  readonly #onAllowed: OnAllowed
  #grants: ReadonlyMap<string, readonly Grant[]> | undefined

  constructor(store: Store, nodes?: Authority, onAllowed: OnAllowed = () => undefined) {
    this.#store = store
    this.#nodes = nodes
    this.#onAllowed = onAllowed
    for (const kind of KINDS)
      store.collection(`${RBAC}/${kind}`).watch({ namespace: undefined, name: undefined }, () => {
        this.#grants = undefined
      })
  }

  allows(user: RequestUser, attributes: Attributes): boolean {
    return this.reasonOfUse(user, attributes) !== undefined
  }

  /** As `reasonFor`, for a user who uses the right; a review only asks. */
  reasonOfUse(user: RequestUser, attributes: Attributes): string | undefined {
    const reason = this.reasonFor(user, attributes)
    if (reason !== undefined) this.#onAllowed(user, attributes)
    return reason
  }

  /** Why it is allowed; undefined when it is not. */
  reasonFor(user: RequestUser, attributes: Attributes): string | undefined {
    if (user.groups.includes(MASTERS)) return ''
    if (this.#nodes?.verdict(user, attributes) === true) return ''
    return this.#grantsOf(user).find(
      (g) => (g.namespace === '' || g.namespace === attributes.namespace) && g.rules.some((r) => covers(r, attributes)),
    )?.reason
  }

  /** Extra text for a refusal; '' if there is none. */
  refusalReason(user: RequestUser, attributes: Attributes): string {
    const verdict = this.#nodes?.verdict(user, attributes)
    return typeof verdict === 'string' ? verdict : ''
  }

  /** All rules that bind a user in a namespace ('' for the cluster alone). */
  rulesFor(user: RequestUser, namespace: string): readonly PolicyRule[] {
    if (user.groups.includes(MASTERS)) return EVERYTHING_RULES
    return this.#grantsOf(user)
      .filter((g) => g.namespace === '' || g.namespace === namespace)
      .flatMap((g) => g.rules)
  }

  #grantsOf(user: RequestUser): readonly Grant[] {
    const grants = (this.#grants ??= this.#build())
    const keys = [`User/${user.name}`, ...user.groups.map((g) => `Group/${g}`)]
    return keys.flatMap((k) => grants.get(k) ?? [])
  }

  #build(): ReadonlyMap<string, readonly Grant[]> {
    const out = new Map<string, Grant[]>()
    const add = (binding: KubeObject, namespace: string) => {
      const rules = rulesOf(this.#roleOf(binding, namespace))
      for (const s of subjectsOf(binding)) {
        const key =
          s.kind === 'ServiceAccount'
            ? `User/system:serviceaccount:${s.namespace ?? namespace}:${s.name}`
            : `${s.kind}/${s.name}`
        const list = out.get(key) ?? []
        list.push({ namespace, rules, reason: reasonOf(binding, namespace, s) })
        out.set(key, list)
      }
    }
    for (const o of this.#store.collection(`${RBAC}/clusterrolebindings`).list(undefined)) add(o.value, '')
    for (const o of this.#store.collection(`${RBAC}/rolebindings`).list(undefined)) add(o.value, o.namespace)
    return out
  }

  #roleOf(binding: KubeObject, namespace: string): KubeObject | undefined {
    const ref = binding['roleRef'] as { readonly kind: string; readonly name: string }
    const cluster = ref.kind === 'ClusterRole'
    return this.#store.get({
      resource: `${RBAC}/${cluster ? 'clusterroles' : 'roles'}`,
      namespace: cluster ? '' : namespace,
      name: ref.name,
    })?.value
  }

  /** The rules a binding would grant; undefined when its role is missing. */
  rulesOfRef(
    ref: { readonly kind: string; readonly name: string },
    namespace: string,
  ): readonly PolicyRule[] | undefined {
    const role = this.#roleOf({ roleRef: ref } as unknown as KubeObject, namespace)
    return role === undefined ? undefined : rulesOf(role)
  }
}

function reasonOf(binding: KubeObject, namespace: string, subject: Subject): string {
  const ref = binding['roleRef'] as { readonly kind: string; readonly name: string }
  const name = namespace === '' ? (binding.metadata.name ?? '') : `${binding.metadata.name}/${namespace}`
  const who = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace ?? namespace}` : subject.name
  return `RBAC: allowed by ${binding.kind} ${JSON.stringify(name)} of ${ref.kind} ${JSON.stringify(ref.name)} to ${subject.kind} ${JSON.stringify(who)}`
}

export const EVERYTHING_RULES: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

export const rulesOf = (role: KubeObject | undefined): readonly PolicyRule[] =>
  (role?.['rules'] as readonly PolicyRule[] | null | undefined) ?? []
const subjectsOf = (binding: KubeObject): readonly Subject[] =>
  (binding['subjects'] as readonly Subject[] | undefined) ?? []

const holds = (list: readonly string[] | undefined, value: string): boolean =>
  list !== undefined && (list.includes(value) || list.includes('*'))

export function covers(rule: PolicyRule, a: Attributes): boolean {
  if (!holds(rule.verbs, a.verb)) return false
  if (a.path !== undefined) return coversPath(rule, a.path)
  if (!holds(rule.apiGroups, a.group)) return false
  if (!coversResource(rule.resources ?? [], a)) return false
  return rule.resourceNames === undefined || rule.resourceNames.length === 0 || rule.resourceNames.includes(a.name)
}

function coversResource(resources: readonly string[], { resource, subresource }: Attributes): boolean {
  if (resources.includes('*')) return true
  if (subresource === '') return resources.includes(resource)
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`)
}

function coversPath(rule: PolicyRule, path: string): boolean {
  return (rule.nonResourceURLs ?? []).some(
    (u) => u === '*' || u === path || (u.endsWith('*') && path.startsWith(u.slice(0, -1))),
  )
}

/** True when the held rules grant everything that `wanted` would. */
export function coversRule(held: readonly PolicyRule[], wanted: PolicyRule): boolean {
  for (const verb of wanted.verbs ?? []) {
    for (const path of wanted.nonResourceURLs ?? [])
      if (!held.some((r) => holds(r.verbs, verb) && coversPath(r, path))) return false
    for (const group of wanted.apiGroups ?? [])
      for (const full of wanted.resources ?? []) {
        const [resource = '', subresource = ''] = full.split('/')
        const names = wanted.resourceNames ?? []
        const one = (name: string) =>
          held.some(
            (r) =>
              holds(r.verbs, verb) &&
              holds(r.apiGroups, group) &&
              (full === '*'
                ? (r.resources ?? []).includes('*')
                : coversResource(r.resources ?? [], { resource, subresource } as Attributes)) &&
              ((r.resourceNames ?? []).length === 0 || (name !== '' && (r.resourceNames ?? []).includes(name))),
          )
        if (names.length === 0 ? !one('') : !names.every(one)) return false
      }
  }
  return true
}

/** The sentence of a refusal, after "… is forbidden: ". */
export function refusalText(user: RequestUser, a: Attributes): string {
  const who = `User ${JSON.stringify(user.name)}`
  if (a.path !== undefined) return `${who} cannot ${a.verb} path ${JSON.stringify(a.path)}`
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`
  const where = a.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(a.namespace)}`
  return `${who} cannot ${a.verb} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(a.group)} ${where}`
}

export const withAuthenticated = (groups: readonly string[]): readonly string[] =>
  groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED]
