// Creates one bootstrap token as the approver would and has it reviewed, to learn whether the API server accepts such tokens. It has no group, so no rights.
import { randomBytes } from 'node:crypto'
import { timestamp } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { InstallContext } from '../context.ts'

const secretType = coreKind('Secret')
const reviewType = coreKind('TokenReview')
const LIFE_MS = 60_000
/** A server reads new Secrets almost at once, and caches a refusal for some seconds. */
const WITHIN_MS = 15_000
const POLL_MS = 1_000

/** Undefined if it was accepted. */
export async function bootstrapTokenProblem({ client, clock, signal }: InstallContext): Promise<string | undefined> {
  const [id, secret] = [randomBytes(3).toString('hex'), randomBytes(8).toString('hex')]
  const key = { namespace: 'kube-system', name: `bootstrap-token-${id}` }
  const data = {
    'token-id': id,
    'token-secret': secret,
    expiration: timestamp(clock.now() + LIFE_MS),
    'usage-bootstrap-authentication': 'true',
    description: 'kubenode check asks whether bootstrap tokens are accepted',
  }
  const made = await client.create(secretType, {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'bootstrap.kubernetes.io/token',
    metadata: key,
    data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
  })
  try {
    const began = clock.monotonic()
    do {
      await clock.sleep(POLL_MS, signal)
      const review = await client.create(reviewType, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: reviewType.kind,
        metadata: {},
        spec: { token: `${id}.${secret}` },
      })
      if (isObject(review['status']) && review['status']['authenticated'] === true) return undefined
    } while (clock.monotonic() - began < WITHIN_MS)
    return 'it does not accept one that was made for it'
  } finally {
    const { uid, resourceVersion } = made.metadata
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
    await client.delete(secretType, key, { preconditions }).catch((error: unknown) => messageOf(error))
  }
}
