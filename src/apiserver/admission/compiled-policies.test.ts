import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { CompiledOnce } from './compiled-policies.ts'

const policy = (name: string, expression: string, resourceVersion?: string): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name, ...(resourceVersion !== undefined && { resourceVersion }) },
  spec: { validations: [{ expression }] },
})

test.each<[string, readonly KubeObject[], number]>([
  ['the same object', Array.from({ length: 3 }, () => policy('a', 'true')), 1],
  ['a later version with the same spec', [policy('a', 'true', '1'), policy('a', 'true', '2')], 1],
  ['another spec', [policy('a', 'true'), policy('a', 'false')], 2],
  ['another name, which messages carry', [policy('a', 'true'), policy('b', 'true')], 2],
])('%s', (_, policies, compilations) => {
  let count = 0
  const compiled = new CompiledOnce(() => ({ count: ++count }))
  for (const p of [...policies, ...policies]) compiled.of(p)
  expect(count).toBe(compilations)
})

test('what was read longest ago is dropped, and compiled again when it is read again', () => {
  let count = 0
  const compiled = new CompiledOnce(() => ({ count: ++count }))
  for (let n = 0; n < 600; n++) compiled.of(policy('a', String(n)))
  compiled.of(policy('a', '599'))
  expect(count).toBe(600)
  compiled.of(policy('a', '0'))
  expect(count).toBe(601)
})
