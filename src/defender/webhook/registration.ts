// The ValidatingWebhookConfiguration: our kinds only, and Ignore on failure. A Defender that is down must not keep people from changing what they declared;
// the schema still holds, and controllers check again and report.
import { API_GROUP, API_VERSION } from '#api/kind.ts'
import { KINDS } from '#api/kinds.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'

export const webhookConfigurationType: ResourceType = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
}

export const WEBHOOK_CONFIGURATION = 'kubenode.io'

/** Written by the Defender, or by controllers on each step: what they write they have checked. */
const NOT_ASKED: ReadonlySet<string> = new Set(['DefenderLedger', 'Inventory'])

export const webhookConfiguration = (url: string, ca: string): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: webhookConfigurationType.kind,
  metadata: { name: WEBHOOK_CONFIGURATION },
  webhooks: [
    {
      name: 'kinds.kubenode.io',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
      timeoutSeconds: 5,
      matchPolicy: 'Equivalent',
      clientConfig: { url, caBundle: Buffer.from(ca).toString('base64') },
      rules: [
        {
          apiGroups: [API_GROUP],
          apiVersions: [API_VERSION],
          operations: ['CREATE', 'UPDATE'],
          resources: KINDS.filter((k) => !NOT_ASKED.has(k.kind))
            .map((k) => k.plural)
            .toSorted(),
          scope: '*',
        },
      ],
    },
  ],
})
