// The approval subresource of certificate requests: conditions may be set here, by those who may approve for the signer.
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { conditionProblems } from '../builtin/certificate-request.ts'
import type { Draft } from '../builtin/kind.ts'
import type { Call, Handler } from '../handlers/context.ts'
import { handleUpdate } from '../handlers/create.ts'
import { handleGet } from '../handlers/list.ts'
import { handlePatch } from '../handlers/patch.ts'
import type { Served } from '../registry/served.ts'

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const conditionsOf = (o: KubeObject): readonly Fields[] => {
  const { conditions } = fields(o['status'])
  return Array.isArray(conditions) ? conditions.filter(isObject) : []
}

/** Approvals carry times, and nothing but conditions changes. */
function approved(o: Draft, old: KubeObject, now: number): Draft {
  const before = conditionsOf(old)
  const conditions = conditionsOf(o).map((c) => {
    const was = before.find((b) => b['type'] === c['type'])
    const kept = was !== undefined && was['status'] === c['status'] ? was['lastTransitionTime'] : timestamp(now)
    return {
      ...c,
      lastUpdateTime: c['lastUpdateTime'] ?? timestamp(now),
      lastTransitionTime: c['lastTransitionTime'] ?? kept,
    }
  })
  const { conditions: _, ...rest } = fields(old['status'])
  return { ...o, status: { ...rest, ...(conditions.length === 0 ? {} : { conditions }) } }
}

function mayApprove(call: Call, signer: string): boolean {
  const { authorizer } = call.parts
  const domain = signer.split('/')[0] ?? ''
  const attributes = {
    verb: 'approve',
    group: 'certificates.k8s.io',
    resource: 'signers',
    subresource: '',
    namespace: '',
  }
  return [signer, `${domain}/*`].some((name) => authorizer.allows(call.user, { ...attributes, name }))
}

function approvalServed(call: Call): Served {
  const { served } = call
  return {
    ...served,
    behaviour: {
      ...served.behaviour,
      prepareForStatusUpdate: (o, old, ctx) => approved(o, old, ctx.now),
      validateStatus: (o, old) => conditionProblems(o, old, true),
      admit: (o) => {
        const signer = String(fields(o['spec'])['signerName'] ?? '')
        return mayApprove(call, signer)
          ? undefined
          : `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`
      },
    },
  }
}

const withApproval =
  (handler: Handler): Handler =>
  (call) =>
    handler({ ...call, served: approvalServed(call) })

export const approvalHandlers: Readonly<Record<string, Handler>> = {
  get: handleGet,
  update: withApproval(handleUpdate),
  patch: withApproval(handlePatch),
}
