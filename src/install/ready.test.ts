// How long install waits for the webhook, and what it reports if the webhook does not answer.
import { expect, test } from 'vitest'
import { ApiError, failure } from '#kube/errors.ts'
import type { Clock } from '#lib/clock.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { InstallContext } from './context.ts'
import { awaitWebhook } from './ready.ts'

type Answer = 'accepted' | Error

const denial = (message: string, code = 403) =>
  new ApiError(failure(code, message), { action: 'create', target: 'noderemediers' })
const REVIEWED = denial('admission webhook "kinds.kubenode.io" denied the request: condition /x is not reported')
const REGISTERED: KubeObject = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'kubenode.io' },
}

/** A cluster that answers the trial with these responses in order, repeating the last one. */
async function waited(answers: readonly Answer[], isRegistered = true) {
  let now = 0
  let asked = 0
  const said: string[] = []
  const tries: unknown[] = []
  const clock = {
    monotonic: () => now,
    sleep: async (ms: number) => void (now += ms),
    after: () => ({ cancel: () => undefined }),
  } as unknown as Clock
  const client = {
    create: async (_: unknown, object: KubeObject, options: unknown) => {
      tries.push([object.kind, options])
      const answer = answers[Math.min(asked++, answers.length - 1)]
      if (answer instanceof Error) throw answer
      return object
    },
    get: async () => (isRegistered ? REGISTERED : undefined),
  }
  const context = { client, clock, print: (l: string) => said.push(l), timeoutMs: 30_000 } as unknown as InstallContext
  const end = await awaitWebhook(context).then(
    () => undefined,
    (error: unknown) => (isKubeNodeError(error) ? `${error.code} ${error.message}` : error),
  )
  return { end, said, tries, seconds: now / 1_000 }
}

test('a webhook that refuses an invalid rule answers, and nothing was stored', async () => {
  const { end, said, tries } = await waited([REVIEWED])
  expect([end, said, tries]).toEqual([undefined, [], [['NodeRemedier', { dryRun: true }]]])
})

test('it waits while the rule is accepted, and reports what it waits for once', async () => {
  const { end, said, seconds } = await waited([...Array<Answer>(20).fill('accepted'), REVIEWED], false)
  expect([end, seconds]).toEqual([undefined, 10])
  expect(said).toEqual([
    'waiting for the webhook of the Defender: the leader of the Defender has not registered it (validatingwebhookconfiguration kubenode.io)',
  ])
})

test.each<[string, Answer, RegExp]>([
  ['accepts an invalid rule', 'accepted', /it is registered .* but an invalid rule passed without its review/],
  [
    'cannot be reached',
    denial('failed calling webhook "kinds.kubenode.io": connect: connection refused', 500),
    /connection refused/,
  ],
  [
    'has another authority',
    denial('failed calling webhook "kinds.kubenode.io": x509: certificate signed by unknown authority', 500),
    /unknown authority/,
  ],
  [
    'is not who refused: a user without rights',
    denial('noderemediers is forbidden: User "a" cannot create'),
    /User "a"/,
  ],
  [
    'is not who refused: a policy of the cluster',
    denial("ValidatingAdmissionPolicy 'of-others' denied the request: no"),
    /of-others/,
  ],
])('a webhook that %s ends the wait with its reason', async (_, answer, why) => {
  const { end, seconds } = await waited([answer])
  expect(end).toMatch(/^KN1431 /)
  expect(end).toMatch(why)
  expect(seconds).toBeGreaterThanOrEqual(30)
})
