// Beside role cluster, in the same pod: the process that runs the control planes of Clusters. It has the volume with their data and keys and no token of the hub;
// the role has the token and no volume. They share one socket.
import { Size } from 'cdk8s'
import {
  Cpu,
  type Deployment,
  EnvFieldPaths,
  EnvValue,
  EmptyDirMedium,
  ImagePullPolicy,
  k8s,
  PersistentVolumeClaim,
  Volume,
} from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { amend, type Path } from './amend.ts'
import { labelsOf, selectorOf } from './labels.ts'
import { containerSecurity, memoryOf, probe, temporary } from './pods.ts'
import { CONTROL_FOLDER, FIRST_PLANE_PORT, planesArgs, PLANES_SERVICE, PLANES_VOLUME, PORTS } from './programs.ts'
import { imageOf, type InstallSettings } from './settings.ts'

const SOCKET_MIB = 1
const BESIDE: Path = ['spec', 'template', 'spec', 'containers', 1]

/** Without an address of its own: its name is that of the pod, with whatever ports control planes have. */
export function planesService(scope: Construct, { version }: InstallSettings): void {
  new k8s.KubeService(scope, PLANES_SERVICE, {
    metadata: { name: PLANES_SERVICE, namespace: SYSTEM_NAMESPACE, labels: labelsOf('cluster', version) },
    spec: {
      clusterIp: 'None',
      selector: selectorOf('cluster'),
      // Clients of a control plane do not wait for the role beside it.
      publishNotReadyAddresses: true,
      ports: [{ name: 'first', port: FIRST_PLANE_PORT, targetPort: k8s.IntOrString.fromNumber(FIRST_PLANE_PORT) }],
    },
  })
}

export function addPlanes(deployment: Deployment, settings: InstallSettings): void {
  const { controlPlanes } = settings
  if (controlPlanes?.claim === undefined) return
  const { cpuMilli, heapMiB, otherMiB } = settings.resources.controlPlanes
  const socket = Volume.fromEmptyDir(deployment, 'control', 'control', {
    medium: EmptyDirMedium.MEMORY,
    sizeLimit: Size.mebibytes(SOCKET_MIB),
  })
  const claim = PersistentVolumeClaim.fromClaimName(deployment, 'planes-claim', controlPlanes.claim)
  deployment.containers[0]?.mount(CONTROL_FOLDER, socket)
  const [tmp] = deployment.containers[0]?.mounts ?? []
  deployment.addContainer({
    name: 'control-planes',
    image: imageOf(settings),
    imagePullPolicy: ImagePullPolicy.IF_NOT_PRESENT,
    args: [...planesArgs(controlPlanes)],
    ports: [
      { name: 'planes', number: FIRST_PLANE_PORT },
      { name: 'planes-health', number: PORTS.planesHealth },
    ],
    envVariables: {
      NODE_OPTIONS: { value: `--max-old-space-size=${heapMiB}` },
      POD_IP: EnvValue.fromFieldRef(EnvFieldPaths.POD_IP),
    },
    volumeMounts: [
      { path: '/tmp', volume: tmp?.volume ?? temporary(deployment) },
      { path: CONTROL_FOLDER, volume: socket },
      {
        path: PLANES_VOLUME,
        volume: Volume.fromPersistentVolumeClaim(deployment, 'planes-volume', claim, { name: 'control-planes' }),
      },
    ],
    startup: probe('/healthz', { period: 2, failures: 150 }, PORTS.planesHealth),
    liveness: probe('/healthz', { period: 10, failures: 6 }, PORTS.planesHealth),
    resources: { cpu: { request: Cpu.millis(cpuMilli) }, memory: memoryOf({ heapMiB, otherMiB }) },
    securityContext: containerSecurity,
  })
  amend(deployment, [[[...BESIDE, 'securityContext', 'capabilities'], { drop: ['ALL'] }]])
}
