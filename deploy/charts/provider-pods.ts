// Providers in pods of their own: each a Deployment with one pod that has the keys of its cloud and no token of the cluster, a Service, and the files that it and
// the controllers know each other by.
import { Chart } from 'cdk8s'
import {
  Cpu,
  Deployment,
  DeploymentStrategy,
  EnvFieldPaths,
  EnvValue,
  ImagePullPolicy,
  k8s,
  LabelSelector,
  Service,
  ServiceAccount,
  ServiceType,
  type VolumeMount,
} from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { amend, type Path } from './amend.ts'
import { providerLabelsOf, providerSelectorOf } from './labels.ts'
import {
  amendPods,
  containerSecurity,
  digestOf,
  GRACE,
  memoryOf,
  podSecurity,
  priorityOf,
  probe,
  PROGRESS,
  secretVolume,
  temporary,
  tolerate,
} from './pods.ts'
import {
  CONFIG_FOLDER,
  inConfig,
  listen,
  PORTS,
  providerKeysFolder,
  providerPodName,
  PROVIDERS_FILE,
  SECRETS_FOLDER,
} from './programs.ts'
import { CLOUD_ROLES, type ProviderPod } from './provider-settings.ts'
import { imageOf, type InstallSettings } from './settings.ts'

const NAMESPACE = SYSTEM_NAMESPACE
const TOKEN_FOLDER = '/var/run/kubenode/cloud'
/** The shortest that a kubelet makes is ten minutes; clouds take it once, for keys of an hour. */
const TOKEN_SECONDS = 3_600

const keysSecretOf = ({ name, servingSecret }: ProviderPod): string => servingSecret ?? `${providerPodName(name)}-keys`

/** The kubelet follows the Secret, and both programs read the files again: new keys need no new pods. */
export const keysMount = (scope: Construct, id: string, pod: ProviderPod, files: readonly string[]): VolumeMount => ({
  path: providerKeysFolder(pod.name),
  readOnly: true,
  volume: secretVolume(scope, id, keysSecretOf(pod), files),
})

const providersFileOf = ({ name, options }: ProviderPod): string =>
  `${JSON.stringify({ providers: [{ name, options }] }, null, 2)}\n`

const argsOf = ({ name }: ProviderPod, { logLevel }: InstallSettings): string[] => {
  const key = (file: string) => `${providerKeysFolder(name)}/${file}`
  const places = `--listen ${listen(PORTS.provider)} --health-listen ${listen(PORTS.health)}`
  const keys = `--cert ${key('tls.crt')} --key ${key('tls.key')} --token-file ${key('token')}`
  const file = `--providers ${inConfig(PROVIDERS_FILE)} --name ${name}`
  return `provider serve ${file} ${places} ${keys} --log-level ${logLevel}`.split(' ')
}

export class ProviderPodsChart extends Chart {
  constructor(scope: Construct, settings: InstallSettings) {
    super(scope, 'providers', { disableResourceNameHashes: true })
    if (!settings.roles.includes('business')) return
    for (const pod of settings.providerPods) {
      this.#secrets(pod, settings)
      this.#around(pod, settings)
      this.#deployment(pod, settings)
    }
  }

  #secrets(pod: ProviderPod, { version, providerKeys }: InstallSettings): void {
    const secret = (name: string, files: Readonly<Record<string, string>>) =>
      new k8s.KubeSecret(this, name, {
        metadata: { name, namespace: NAMESPACE, labels: providerLabelsOf(pod.name, version) },
        type: 'Opaque',
        data: Object.fromEntries(
          Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString('base64')]),
        ),
      })
    secret(providerPodName(pod.name), { [PROVIDERS_FILE]: providersFileOf(pod) })
    const keys = providerKeys[pod.name]
    if (pod.servingSecret !== undefined || keys === undefined) return
    const { ca, cert, key, token } = keys
    secret(keysSecretOf(pod), { 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key, token })
  }

  /** Its account has no rights: it is what a cloud may give a role to. */
  #around({ name }: ProviderPod, { version }: InstallSettings): void {
    const metadata = { name: providerPodName(name), namespace: NAMESPACE, labels: providerLabelsOf(name, version) }
    new k8s.KubeServiceAccount(this, `${name}-account`, { metadata, automountServiceAccountToken: false })
    new k8s.KubePodDisruptionBudget(this, `${name}-budget`, {
      metadata,
      spec: {
        maxUnavailable: k8s.IntOrString.fromNumber(1),
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: providerSelectorOf(name) },
      },
    })
    const service = new Service(this, `${name}-service`, {
      metadata,
      type: ServiceType.CLUSTER_IP,
      ports: [{ name: 'https', port: PORTS.provider, targetPort: PORTS.provider }],
    })
    for (const [key, value] of Object.entries(providerSelectorOf(name))) service.selectLabel(key, value)
    amend(service, [[['spec', 'externalIPs'], undefined]])
  }

  #deployment(pod: ProviderPod, settings: InstallSettings): void {
    const { name, secrets, resources } = pod
    const labels = providerLabelsOf(name, settings.version)
    const deployment = new Deployment(this, `${name}-pods`, {
      metadata: { name: providerPodName(name), namespace: NAMESPACE, labels },
      replicas: 1,
      podMetadata: { labels },
      select: false,
      // Two would not share what the vendor allows in calls.
      strategy: DeploymentStrategy.recreate(),
      progressDeadline: PROGRESS,
      terminationGracePeriod: GRACE,
      serviceAccount: ServiceAccount.fromServiceAccountName(this, `${name}-own-account`, providerPodName(name)),
      automountServiceAccountToken: false,
      securityContext: podSecurity,
    })
    deployment.select(LabelSelector.of({ labels: providerSelectorOf(name) }))
    tolerate(deployment, settings)
    const id = (what: string) => `${name}-${what}`
    deployment.addContainer({
      name: 'provider',
      image: imageOf(settings),
      imagePullPolicy: ImagePullPolicy.IF_NOT_PRESENT,
      args: argsOf(pod, settings),
      ports: (['health', 'provider'] as const).map((port) => ({ name: port, number: PORTS[port] })),
      envVariables: {
        NODE_OPTIONS: { value: `--max-old-space-size=${resources.heapMiB}` },
        POD_IP: EnvValue.fromFieldRef(EnvFieldPaths.POD_IP),
        ...roleVariables(pod),
      },
      volumeMounts: [
        { path: '/tmp', volume: temporary(deployment) },
        {
          path: `${CONFIG_FOLDER}/${PROVIDERS_FILE}`,
          subPath: PROVIDERS_FILE,
          readOnly: true,
          volume: secretVolume(this, id('config'), providerPodName(name)),
        },
        keysMount(this, id('keys'), pod, ['tls.crt', 'tls.key', 'token']),
        ...secrets.map((secret, n) => ({
          path: `${SECRETS_FOLDER}/${secret}`,
          readOnly: true,
          volume: secretVolume(this, id(`secret-${n}`), secret),
        })),
      ],
      startup: probe('/healthz', { period: 2, failures: 60 }),
      liveness: probe('/healthz', { period: 10, failures: 6 }),
      readiness: probe('/readyz', { period: 5, failures: 3 }),
      resources: { cpu: { request: Cpu.millis(resources.cpuMilli) }, memory: memoryOf(resources) },
      securityContext: containerSecurity,
    })
    amendPods(
      deployment,
      {
        selector: providerSelectorOf(name),
        // Repairs that replace a host need it.
        priority: priorityOf('controllers', settings),
        hasToken: false,
        digest: digestOf(new Map([[PROVIDERS_FILE, providersFileOf(pod)]])),
      },
      settings,
    )
    amend(deployment, cloudToken(pod))
  }
}

function roleVariables({ name, role }: ProviderPod): Readonly<Record<string, EnvValue>> {
  const cloud = CLOUD_ROLES[name]
  if (role === undefined || cloud === undefined) return {}
  const of = (variable: string, value: string) => ({ [variable]: EnvValue.fromValue(value) })
  return {
    ...of(cloud.arn, role.arn),
    ...of(cloud.tokenFile, `${TOKEN_FOLDER}/token`),
    ...(cloud.oidcProvider !== undefined &&
      role.oidcProvider !== undefined &&
      of(cloud.oidcProvider, role.oidcProvider)),
  }
}

const SPEC: Path = ['spec', 'template', 'spec']

/** For the cloud alone: an API server refuses a token of another audience. */
function cloudToken({ name, role }: ProviderPod): readonly (readonly [Path, unknown])[] {
  const audience = CLOUD_ROLES[name]?.audience
  if (role === undefined || audience === undefined) return []
  const source = { serviceAccountToken: { path: 'token', audience, expirationSeconds: TOKEN_SECONDS } }
  const volume = { name: 'cloud', projected: { defaultMode: 0o440, sources: [source] } }
  const mount = { name: volume.name, mountPath: TOKEN_FOLDER, readOnly: true }
  return [
    [[...SPEC, 'volumes', '-'], volume],
    [[...SPEC, 'containers', 0, 'volumeMounts', '-'], mount],
  ]
}
