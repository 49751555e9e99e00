// Seals the values of one configuration to the key of one machine. Values leave the reading code only here.
import type { ComponentConfig } from '#api/kinds/component-config.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, LABELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { seal } from '#api/sealed.ts'
import { keyName, sealedKey, sealedObjectName } from '#api/sealed-names.ts'
import type { ConfigMap } from './config-map.ts'

/** The objects to write: one per name in the configuration's places. They are deleted with their Machine. */
export function sealedObjects(
  { spec }: ComponentConfig,
  { metadata: { name: machine = '', uid = '' } }: Machine,
  publicKey: string,
  values: ReadonlyMap<string, string>,
): readonly ConfigMap[] {
  const { component, secrets = [] } = spec
  const names = [...new Set(secrets.map((s) => s.sealedIn ?? component))]
  return names.map((sealedIn) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      namespace: SYSTEM_NAMESPACE,
      name: sealedObjectName(sealedIn, machine),
      labels: { [LABELS.sealed]: 'true' },
      annotations: {
        [ANNOTATIONS.machine]: machine,
        [ANNOTATIONS.sealedIn]: sealedIn,
        [ANNOTATIONS.sealedTo]: keyName(publicKey),
      },
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: 'Machine', name: machine, uid }],
    },
    data: Object.fromEntries(
      secrets
        .filter((s) => (s.sealedIn ?? component) === sealedIn)
        .map(({ path }) => [sealedKey(path), seal(publicKey, { machine, component, path }, values.get(path) ?? '')]),
    ),
  }))
}
