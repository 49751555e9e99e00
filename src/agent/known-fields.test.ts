import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { typeProblems, problemsText } from '#apiserver/schema/apply/check.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { KnownFields, unknownFields, withoutField } from './known-fields.ts'

test.each([
  ['one', '.spec.b: field not declared in schema', ['spec.b']],
  [
    'one with the words around it',
    'failed to create typed patch object (/m; kubenode.io/v1alpha1, Kind=Machine): .status.hint: field not declared in schema',
    ['status.hint'],
  ],
  [
    'several, some in lists by key',
    'errors:\n  .status.components[name="a: b"].hint: field not declared in schema\n  .status.future: field not declared in schema',
    ['status.components.hint', 'status.future'],
  ],
  ['something else', '.status.phase: expected string, got 7', []],
])('a refusal of %s names the fields', (_what, message, paths) =>
  expect(unknownFields(message).map((p) => p.join('.'))).toEqual(paths),
)

test('a field goes from every item of a list, and nothing else goes', () => {
  const value = { a: 1, list: [{ hint: 1, name: 'x' }, { name: 'y' }], map: { hint: 2 } }
  expect(withoutField(value, ['list', 'hint'])).toEqual({
    a: 1,
    list: [{ name: 'x' }, { name: 'y' }],
    map: { hint: 2 },
  })
  expect(withoutField(value, ['other', 'hint'])).toBe(value)
})

/** Rejects fields that its schema does not declare, like a server older than the agent. */
function olderServer() {
  const applied: KubeObject[] = []
  let tries = 0
  const apply = async (_type: unknown, object: KubeObject): Promise<KubeObject> => {
    tries++
    const problems = typeProblems(machineType.schema, { status: object['status'] })
    if (problems.length > 0)
      throw new ApiError({ code: 500, message: problemsText(problems) } as never, { action: 'apply', target: 'm' })
    applied.push(object)
    return object
  }
  return { client: { apply } as unknown as KubeClient, applied, tries: () => tries }
}

const status = { bootID: 'b', agent: { version: '0.3.0' }, components: [{ name: 'c', state: 'Healthy' }] }
const object = (more: object = {}): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name: 'm' },
  status: { ...status, ...more },
})
const options = { fieldManager: 'kubenode-agent', force: true }

test('what an older server does not know is left out, and not said again', async () => {
  const { client, applied, tries } = olderServer()
  const known = new KnownFields(silentLogger)
  const newer = object({
    agent: { version: '0.3.0', novelty: 'x', build: 'y' },
    components: [{ name: 'c', state: 'Healthy', hint: 'z' }],
    load: { one: 1 },
  })
  await known.apply(client, machineType, newer, options)
  expect(applied).toEqual([object()])
  const before = tries()
  await known.apply(client, machineType, newer, options)
  expect([applied.length, tries() - before]).toEqual([2, 1])
})

test('another refusal is reported unchanged, at once', async () => {
  const { client, tries } = olderServer()
  const wrong = object({ bootID: 7 })
  await expect(new KnownFields(silentLogger).apply(client, machineType, wrong, options)).rejects.toThrow(
    /expected string/,
  )
  expect(tries()).toBe(1)
})

test('a sentence that is too long does not cost the rest of the status', async () => {
  const { client, applied } = olderServer()
  const long = object({ components: [{ name: 'c', state: 'Healthy', message: 'x'.repeat(5_000) }] })
  await new KnownFields(silentLogger).apply(client, machineType, long, options)
  const cut = object({ components: [{ name: 'c', state: 'Healthy', message: `${'x'.repeat(199)}…` }] })
  expect(applied).toEqual([cut])
})
