// `authorizer` in admission expressions: checks whether a user may do something, as the server itself would.
import { method, type Overload } from './functions.ts'
import { BOOL, objectOf, opaque, STRING, type CelType } from './types.ts'
import { CelBox, CelObject, CelOpaque, type CelValue } from './values.ts'

export interface AccessQuestion {
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** Of no resource; '' where a resource is meant. */
  readonly path: string
}

interface AccessAnswer {
  readonly allowed: boolean
  readonly reason: string
}

/** `account`: a service account instead of the requesting user. */
export type MayThey = (verb: string, question: AccessQuestion, account: Account | undefined) => AccessAnswer

interface Account {
  readonly namespace: string
  readonly name: string
}

const RESOURCE_CHECK = opaque('kubernetes.authorization.ResourceCheck')
const GROUP_CHECK = opaque('kubernetes.authorization.GroupCheck')
const PATH_CHECK = opaque('kubernetes.authorization.PathCheck')
const DECISION = opaque('kubernetes.authorization.Decision')
export const AUTHORIZER = objectOf(
  'kubernetes.authorization.Authorizer',
  new Map([['requestResource', { name: 'requestResource', type: RESOURCE_CHECK }]]),
)

/** As the real server charges it: a question may cost a request to a webhook there. */
const CHECK_COST = 350_000

const NOTHING: AccessQuestion = { group: '', resource: '', subresource: '', namespace: '', name: '', path: '' }

class CelAuthorizer extends CelObject {
  readonly may: MayThey
  readonly account: Account | undefined
  readonly requested: AccessQuestion

  constructor(may: MayThey, requested: AccessQuestion, account: Account | undefined) {
    super({}, AUTHORIZER, () => null)
    this.may = may
    this.requested = requested
    this.account = account
  }

  override get(name: string): CelValue | undefined {
    return name === 'requestResource' ? new CelCheck(RESOURCE_CHECK, this, this.requested) : undefined
  }
}

class CelCheck extends CelOpaque {
  readonly type: CelType
  readonly by: CelAuthorizer
  readonly question: AccessQuestion

  constructor(type: CelType, by: CelAuthorizer, question: AccessQuestion) {
    super()
    this.type = type
    this.by = by
    this.question = question
  }

  with(more: Partial<AccessQuestion>, type: CelType = RESOURCE_CHECK): CelCheck {
    return new CelCheck(type, this.by, { ...this.question, ...more })
  }

  equals(other: CelOpaque): boolean {
    return other === this
  }
}

class CelDecision extends CelBox<AccessAnswer> {
  readonly type = DECISION

  equals(other: CelOpaque): boolean {
    return other === this
  }
}

/** The value of the variable, for one request. */
export const authorizerValue = (may: MayThey, requested: AccessQuestion): CelValue =>
  new CelAuthorizer(may, requested, undefined)

const check = (c: CelCheck, verb: string): CelValue => new CelDecision(c.by.may(verb, c.question, c.by.account))
const S = STRING
const R = RESOURCE_CHECK
const A: CelType = AUTHORIZER

export const AUTHORIZER_FUNCTIONS: readonly Overload[] = [
  method(
    'path',
    [A, S],
    PATH_CHECK,
    (a: CelAuthorizer, path: string) => new CelCheck(PATH_CHECK, a, { ...NOTHING, path }),
  ),
  method(
    'group',
    [A, S],
    GROUP_CHECK,
    (a: CelAuthorizer, group: string) => new CelCheck(GROUP_CHECK, a, { ...NOTHING, group }),
  ),
  method(
    'serviceAccount',
    [A, S, S],
    A,
    (a: CelAuthorizer, namespace: string, name: string) => new CelAuthorizer(a.may, a.requested, { namespace, name }),
  ),
  method('resource', [GROUP_CHECK, S], R, (c: CelCheck, resource: string) => c.with({ resource })),
  method('subresource', [R, S], R, (c: CelCheck, subresource: string) => c.with({ subresource })),
  method('namespace', [R, S], R, (c: CelCheck, namespace: string) => c.with({ namespace })),
  method('name', [R, S], R, (c: CelCheck, name: string) => c.with({ name })),
  method('check', [R, S], DECISION, check, () => CHECK_COST),
  method('check', [PATH_CHECK, S], DECISION, check, () => CHECK_COST),
  method('allowed', [DECISION], BOOL, (d: CelDecision) => d.of.allowed),
  method('reason', [DECISION], S, (d: CelDecision) => d.of.reason),
  method('errored', [DECISION], BOOL, () => false),
  method('error', [DECISION], S, () => ''),
]
