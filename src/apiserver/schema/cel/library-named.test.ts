// Versions, named formats and the authorizer in expressions.
import { describe, expect, it } from 'vitest'
import { AdmissionEvaluation, admissionScope, compileAdmission, withoutAuthorizer } from './admission.ts'
import { compileCel, evaluateCel } from './cel.ts'
import { authorizerValue, type MayThey } from './library-authorizer.ts'
import { CelList, CelOptional, type CelValue } from './values.ts'

const plain = (v: CelValue): unknown => {
  if (v instanceof CelOptional) return v.value === undefined ? 'none' : { some: plain(v.value) }
  return v instanceof CelList ? v.toArray().map(plain) : v
}

function run(expression: string): unknown {
  const compiled = compileCel(expression, { variables: {} })
  if (!compiled.ok) return compiled.problems
  const out = evaluateCel(compiled.program, {})
  return out.ok ? plain(out.value) : `error: ${out.error}`
}

describe('semantic versions', () => {
  it.each<[string, unknown]>([
    ["isSemver('1.0.0')", true],
    ["isSemver('hello')", false],
    ["isSemver('v1.0')", false],
    ["isSemver('v1.0', true)", true],
    ["isSemver('01.2.3')", false],
    ["isSemver('01.2.3', true)", true],
    ["isSemver('1.0-rc.1', true)", false],
    ["semver('1.2.3').major() * 100 + semver('1.2.3').minor() * 10 + semver('1.2.3').patch()", 123n],
    ["semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10'))", true],
    ["semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))", true],
    ["semver('1.0.0+a') == semver('1.0.0+b')", true],
    ["semver('v1.2', true).compareTo(semver('1.2.0'))", 0n],
    ["semver('1.2')", 'error: No Major.Minor.Patch elements found'],
    ['type(semver("1.0.0")) == kubernetes.Semver', true],
  ])('%s', (expression, value) => expect(run(expression)).toEqual(value))
})

describe('named formats', () => {
  it.each<[string, unknown]>([
    ["format.dns1123Label().validate('my-name').hasValue()", false],
    ["format.dns1123Label().validate('my_name').value()[0].startsWith('a lowercase RFC 1123 label')", true],
    ["format.dns1123LabelPrefix().validate('my-').hasValue()", false],
    ["format.named('dns1123Subdomain').value().validate('a.b').hasValue()", false],
    ["format.named('nothing').hasValue()", false],
    ["format.qualifiedName().validate('example.com/name').orValue([])", []],
    ["format.labelValue().validate('-').hasValue()", true],
    ["format.uuid().validate('123e4567-e89b-12d3-a456-426614174000')", 'none'],
    ["format.date().validate('2021-13-01')", { some: ['invalid date'] }],
    ["format.datetime().validate('2021-01-01T00:00:00Z')", 'none'],
    ["format.byte().validate('aGVsbG8=')", 'none'],
    ["'%s is %d'.format(['a', 1])", 'a is 1'],
  ])('%s', (expression, value) => expect(run(expression)).toEqual(value))
})

describe('the authorizer', () => {
  const scope = admissionScope({})
  const asked: unknown[] = []
  const may: MayThey = (verb, question, account) => {
    asked.push({ verb, ...question, account })
    return { allowed: verb === 'get', reason: 'because' }
  }
  const requested = { group: '', resource: 'pods', subresource: '', namespace: 'n', name: 'p', path: '' }
  const ask = (expression: string): unknown => {
    const compiled = compileAdmission(expression, scope, ['bool', 'string'], 'x')
    if (!compiled.ok) return compiled.problem.detail
    asked.length = 0
    const input = { object: null, oldObject: null, request: null, authorizer: authorizerValue(may, requested) }
    const result = new AdmissionEvaluation(scope, input).run(compiled.program)
    return result.ok ? result.value : result.error
  }

  it('asks about a resource, part by part', () => {
    const expression =
      "authorizer.group('apps').resource('deployments').subresource('scale').namespace('a').name('b').check('get').allowed()"
    expect(ask(expression)).toBe(true)
    expect(asked).toEqual([
      {
        verb: 'get',
        group: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'a',
        name: 'b',
        path: '',
        account: undefined,
      },
    ])
  })

  it('asks about a path, about another account, about what the request is for', () => {
    expect(ask("authorizer.path('/healthz').check('post').allowed()")).toBe(false)
    expect(asked).toMatchObject([{ verb: 'post', path: '/healthz', resource: '' }])
    expect(ask("authorizer.serviceAccount('a', 'b').group('').resource('pods').check('get').reason()")).toBe('because')
    expect(asked).toMatchObject([{ account: { namespace: 'a', name: 'b' } }])
    expect(ask("authorizer.requestResource.check('get').allowed()")).toBe(true)
    expect(asked).toMatchObject([requested])
    expect(ask("authorizer.serviceAccount('a', 'b').requestResource.check('get').errored()")).toBe(false)
    expect(asked).toMatchObject([{ ...requested, account: { namespace: 'a', name: 'b' } }])
  })

  it('costs so much that a loop over many questions ends', () => {
    const many = `[${Array.from({ length: 30 }, () => '0').join(',')}].all(x, authorizer.path('/a').check('get').allowed())`
    expect(ask(many)).toContain('cost limit exceeded')
  })

  it('is not there for messages', () => {
    const compiled = compileAdmission(
      "authorizer.path('/').check('get').reason()",
      withoutAuthorizer(scope),
      ['string'],
      'x',
    )
    expect(compiled.ok).toBe(false)
  })
})
