// The keys that encrypt Secrets in a control plane's etcd, stored in its namespace on the hub.
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { sealingKeysIn } from '../credentials/held.ts'
import { ENCRYPTION_KEY } from '../credentials/recipe.ts'
import { credentialSecretName, heldIn } from '../credentials/secrets.ts'

export const ENCRYPTION_SECRET = credentialSecretName(ENCRYPTION_KEY)

/** Undefined if the Secret is missing or damaged. */
export async function readEncryptionKeys(
  client: KubeClient,
  namespace: string,
): Promise<ReturnType<typeof sealingKeysIn>> {
  const secret = await client.get(coreKind('Secret'), { namespace, name: ENCRYPTION_SECRET })
  return sealingKeysIn(heldIn(secret === undefined ? [] : [secret]).held, ENCRYPTION_KEY)
}
