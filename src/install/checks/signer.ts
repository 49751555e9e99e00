// Requests one short-lived certificate as an agent would: the only way to learn whether the cluster signs for agents. Discards the key and the request.
import { AGENT_SIGNER } from '#api/names.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { messageOf } from '#lib/errors.ts'
import { certificateRequestType, clientRequest, type CertificateRequest } from '#identity/certificate-request.ts'
import type { InstallContext } from '../context.ts'

/** A user without any rights. */
const NOBODY = 'kubenode:install-asks'
const NAME = 'kubenode-install-asks'
/** The shortest lifetime that a request may name. */
const LIFE_SECONDS = 600
const WITHIN_MS = 15_000
const POLL_MS = 250

/** Undefined if it signed. */
export async function signerProblem({ client, clock, signal }: InstallContext): Promise<string | undefined> {
  const request = await signingRequest(await newPrivateKey(), { commonName: NOBODY })
  const key = { name: NAME }
  await client.delete(certificateRequestType, key)
  const made = await client.create(
    certificateRequestType,
    clientRequest({ metadata: key, pem: request, signerName: AGENT_SIGNER, seconds: LIFE_SECONDS }),
  )
  try {
    const approved: CertificateRequest = {
      ...made,
      status: {
        conditions: [
          {
            type: 'Approved',
            status: 'True',
            reason: 'Check',
            message: 'kubenode check asks whether the signer works',
          },
        ],
      },
    }
    await client.update(certificateRequestType, approved, { subresource: 'approval' })
    const began = clock.monotonic()
    while (clock.monotonic() - began < WITHIN_MS) {
      const now = await client.get(certificateRequestType, key)
      if ((now?.status?.certificate ?? '') !== '') return undefined
      const denied = now?.status?.conditions?.find((c) => c.type === 'Failed' || c.type === 'Denied')
      if (denied !== undefined) return denied.message ?? denied.type
      await clock.sleep(POLL_MS, signal)
    }
    return `nothing within ${WITHIN_MS / 1_000} s`
  } finally {
    await client.delete(certificateRequestType, key).catch((error: unknown) => messageOf(error))
  }
}
