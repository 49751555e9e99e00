import { expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { ApiError, ConnectionError, failure } from '#kube/errors.ts'
import type { Deleted } from '#runtime/preconditions.ts'
import type { Delete } from '#delivery/operation.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { InstallContext } from './context.ts'
import { installErrors } from './install-errors.ts'
import { prune } from './prune.ts'

const REF = { group: '', kind: 'ConfigMap', namespace: 'kubenode-system', name: 'old' }
const OLD: Delete = { kind: 'Delete', reason: 'Undeclared', ref: REF, uid: 'u-1', resourceVersion: '7' }
const TYPE = coreKind('ConfigMap')

type Answer = Error | Deleted
const refusal = (code: number, message: string): ApiError =>
  new ApiError(failure(code, message), { action: 'delete', target: 'configmaps/old' })
const conflict = refusal(409, 'the object has been modified')
const denied = refusal(403, 'a policy refuses it')
const busy = refusal(429, 'too many requests')
const lost = new ConnectionError(installErrors.KN1420({ object: 'it', why: 'the connection ended' }), 'unknown')

/** A server whose object stays until a delete returns `Deleted`. */
async function pruned(answers: readonly Answer[], uid = 'u-1') {
  let isThere = true
  let deletes = 0
  const said: string[] = []
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'old', namespace: 'kubenode-system', uid, resourceVersion: '7' },
  }
  const context = {
    client: {
      get: async () => (isThere ? object : undefined),
      delete: async () => {
        const answer = answers[Math.min(deletes++, answers.length - 1)]
        if (answer instanceof Error) throw answer
        isThere = false
        return answer
      },
    },
    types: { ofGroup: async () => TYPE },
    clock: { sleep: async () => undefined },
    print: (line: string) => void said.push(line),
  } as unknown as InstallContext
  return { isDone: await prune(context, OLD), deletes, said: said.map((s) => s.replace(/:.*/, '')) }
}

const REMOVED = 'removed ConfigMap/kubenode-system/old, which this version no longer has'
const FAILED = 'ConfigMap/kubenode-system/old could not be removed'

test.each<
  readonly [what: string, answers: readonly Answer[], deletes: number, isDone: boolean, said: readonly string[]]
>([
  ['an object is removed', ['Deleted'], 1, true, [REMOVED]],
  ['an object that ends later is remembered', ['Deleting'], 1, false, [REMOVED]],
  ['an object that changed in between is removed as it is then', [conflict, 'Deleted'], 2, true, [REMOVED]],
  ['a lost reply is no answer', [lost, lost, 'Deleted'], 3, true, [REMOVED]],
  ['a busy server is asked again', [busy, 'Deleted'], 2, true, [REMOVED]],
  ['a refusal is one', [denied], 1, false, [FAILED]],
  ['a server that never answers ends it', [lost], 5, false, [FAILED]],
])('%s', async (_what, answers, deletes, isDone, said) => {
  expect(await pruned(answers)).toEqual({ isDone, deletes, said })
})

test('an object of the same name that others made meanwhile stays', async () => {
  expect(await pruned([lost, 'Deleted'], 'u-2')).toEqual({ isDone: true, deletes: 1, said: [] })
})
