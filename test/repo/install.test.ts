// The install manifests equal what the current charts render, no other files are beside them, and every expression in them compiles.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fieldErrorLine } from '#apiserver/schema/field-error.ts'
import { admissionScope, compileAdmission } from '#apiserver/schema/cel/admission.ts'
import { crdOf } from '#api/crd.ts'
import { KINDS } from '#api/kinds.ts'
import { AGENTS_NAMESPACE, CONTROL_PLANE_ROLE, PROGRAM_REPORTERS } from '#api/names.ts'
import { CONTROLLERS, ROLE_NAMES, ROLES as PROGRAMS } from '#programs/all.ts'
import type { Right } from '#runtime/rights.ts'
import { HUB_DIRECTORY, INSTALL_DIRECTORY, installFiles } from '../../deploy/charts/install.ts'
import { KUSTOMIZE_DIRECTORY, releaseFiles, SETTINGS_COMPONENT } from '../../deploy/charts/release-files.ts'
import { POLICIES } from '../../deploy/charts/policies.ts'
import { ROLES } from '../../deploy/charts/roles.ts'

const root = join(import.meta.dirname, '../..')
const files = new Map([...installFiles(), ...releaseFiles()])

test.each([...files.keys()])('%s is up to date; run npm run gen when it is not', (path) => {
  expect(readFileSync(join(root, path), 'utf8')).toBe(files.get(path))
})

test.each([INSTALL_DIRECTORY, HUB_DIRECTORY, KUSTOMIZE_DIRECTORY, SETTINGS_COMPONENT])(
  '%s holds nothing else',
  (directory) => {
    const present = readdirSync(join(root, directory)).map((name) => `${directory}/${name}`)
    expect(present.filter((path) => !files.has(path) && path !== SETTINGS_COMPONENT)).toEqual([])
  },
)

test.each(POLICIES.map((p) => [p.name, p] as const))('the expressions of %s compile', (_, policy) => {
  const scope = admissionScope({ variables: policy.variables, hasParams: policy.parameter !== undefined })
  const problems = [
    ...scope.problems,
    ...[...policy.matchConditions, ...policy.validations].flatMap(({ expression }) => {
      const compiled = compileAdmission(expression, scope, ['bool'], 'expression')
      return compiled.ok ? [] : [compiled.problem]
    }),
  ]
  expect(problems.map(fieldErrorLine)).toEqual([])
})

test('only an administrator gets everything, or rights to grant rights', () => {
  const rules = ROLES.flatMap((r) => r.rules.map((rule) => ({ role: r.name, ...rule })))
  const wild = rules.filter((r) => [...r.apiGroups, ...r.resources, ...r.verbs].includes('*'))
  // The Defender reads its own role, which owns its webhook registration; a read grants nothing.
  const isOwnRole = (r: (typeof rules)[number]): boolean =>
    r.verbs.every((v) => v === 'get') && r.resourceNames?.every((name) => name === r.role) === true
  // A policy lets it give accounts of agents the identity of their Machine and Node, and nothing else: test/attacks/agent-account.test.ts.
  const ofAgents = ROLES.filter((r) => r.name === 'kubenode:approver' && r.namespace === AGENTS_NAMESPACE)
  const givesIdentity = (r: (typeof rules)[number]): boolean =>
    ofAgents.some((role) => role.rules.some((rule) => rule.verbs === r.verbs && rule.resources === r.resources))
  // A policy lets it bind this one role to itself, in namespaces that it made: test/attacks/control-plane-namespaces.test.ts.
  const ofPlanes = (r: (typeof rules)[number]): boolean =>
    r.role === 'kubenode:cluster-hub' &&
    ((r.resources.join() === 'rolebindings' && r.verbs.join() === 'create') ||
      (r.verbs.join() === 'bind' && r.resourceNames?.join() === CONTROL_PLANE_ROLE))
  const giving = rules.filter(
    (r) =>
      (r.apiGroups.includes('rbac.authorization.k8s.io') && !isOwnRole(r) && !givesIdentity(r)) ||
      r.verbs.some((v) => ['escalate', 'bind', 'impersonate'].includes(v)),
  )
  expect([...wild, ...giving.filter((r) => !ofPlanes(r))]).toEqual([])
})

test.each(ROLE_NAMES)('the role %s may write what it needs to lead', (name) => {
  const rulesIn = (namespace: string | undefined) =>
    ROLES.filter(
      (r) => r.namespace === namespace && [`kubenode:${name}`, `kubenode:${name}-hub`].includes(r.name),
    ).flatMap((r) => r.rules)
  const needs: readonly Right[] = PROGRAMS[name].needs
  const lacks = needs.filter(
    ({ verb, group, resource, namespace }) =>
      !rulesIn(namespace).some(
        (r) =>
          r.apiGroups.includes(group) && r.resources.includes(resource) && r.verbs.includes(verb) && !r.resourceNames,
      ),
  )
  expect(lacks).toEqual([])
})

test('each controller may write its events', () => {
  const names: readonly string[] = Object.keys(CONTROLLERS).map((name) => `kubenode.io/${name}`)
  expect(names.filter((name) => !PROGRAM_REPORTERS.controllers.some((r) => r === name))).toEqual([])
})

test('agents and join tokens read no Secret', () => {
  const reads = ROLES.filter((r) => /agents|bootstrappers/.test(r.name)).flatMap((r) => r.rules)
  expect(reads.filter((r) => r.resources.includes('secrets'))).toEqual([])
})

/** Client-side apply keeps a copy of each object in an annotation of at most 256 KiB. */
const MAX_DEFINITION_BYTES = 128 * 1024

test('each definition is small enough for kubectl apply', () => {
  const sizes = KINDS.map((kind) => [kind.plural, Buffer.byteLength(JSON.stringify(crdOf(kind)))] as const)
  expect(sizes.filter(([, bytes]) => bytes > MAX_DEFINITION_BYTES)).toEqual([])
})
