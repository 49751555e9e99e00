// What only a hub has: what surrounds the Jobs that render commits, in a namespace of their own (no network in either direction, no rights, no token, and a bound on
// all of it), and the list of images that control planes may run.
import { Chart } from 'cdk8s'
import { k8s } from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import { CONTROL_PLANE_VERSIONS, RENDER_ACCOUNT, RENDER_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { commonLabels, PART_OF } from './labels.ts'
import { versionFileText } from './control-plane-settings.ts'
import { VERSIONS_FILE } from './programs.ts'
import type { InstallSettings } from './settings.ts'

/** Of all renders at once; those that find no room wait. */
const QUOTA = {
  pods: '8',
  'count/jobs.batch': '32',
  'count/configmaps': '256',
  'requests.cpu': '4',
  'requests.memory': '4Gi',
  'limits.memory': '16Gi',
  // Nothing there has an address or a volume of its own.
  services: '0',
  persistentvolumeclaims: '0',
} as const

export class RenderChart extends Chart {
  constructor(scope: Construct, settings?: Pick<InstallSettings, 'version' | 'imagePullSecrets' | 'controlPlanes'>) {
    super(scope, 'render', { disableResourceNameHashes: true })
    const labels = settings === undefined ? PART_OF : commonLabels(settings.version)
    const pull = (settings?.imagePullSecrets ?? []).map((name) => ({ name }))
    const namespace = RENDER_NAMESPACE
    // Where the settings do not serve the flavor, its data belongs to the people of the hub: applying this again leaves it alone.
    const versions = versionFileText(settings?.controlPlanes?.kubernetes)
    new k8s.KubeConfigMap(this, 'control-plane-versions', {
      metadata: { name: CONTROL_PLANE_VERSIONS, namespace: SYSTEM_NAMESPACE, labels },
      ...(versions !== undefined && { data: { [VERSIONS_FILE]: versions } }),
    })
    new k8s.KubeServiceAccount(this, 'account', {
      metadata: { name: RENDER_ACCOUNT, namespace, labels },
      automountServiceAccountToken: false,
      ...(pull.length > 0 && { imagePullSecrets: pull }),
    })
    new k8s.KubeNetworkPolicy(this, 'deny-all', {
      metadata: { name: 'kubenode-deny-all', namespace, labels },
      spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
    })
    new k8s.KubeResourceQuota(this, 'bound', {
      metadata: { name: 'kubenode-render', namespace, labels },
      spec: {
        hard: Object.fromEntries(Object.entries(QUOTA).map(([what, most]) => [what, k8s.Quantity.fromString(most)])),
      },
    })
  }
}
