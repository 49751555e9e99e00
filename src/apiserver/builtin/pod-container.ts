// The containers of a pod: fields and defaults that the ordinary, init and ephemeral ones share.
import {
  always,
  bool,
  int32,
  int64,
  intOrString,
  listOf,
  mapList,
  mapOf,
  pointer,
  quantity,
  str,
  struct,
  withDefault,
} from './shape.ts'
import type { Fields } from './shape.ts'
import type { BuiltinSchema } from './kind.ts'
import { objectFieldSelector, resourceFieldSelector } from './pod-volumes.ts'

const selectKey = (goName: string): BuiltinSchema =>
  struct(
    goName,
    { name: str, key: always(str), optional: pointer(bool) },
    { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
  )

const envVar = struct('EnvVar', {
  name: always(str),
  value: str,
  valueFrom: pointer(
    struct('EnvVarSource', {
      fieldRef: objectFieldSelector,
      resourceFieldRef: resourceFieldSelector,
      configMapKeyRef: selectKey('ConfigMapKeySelector'),
      secretKeyRef: selectKey('SecretKeySelector'),
      fileKeyRef: pointer(
        struct(
          'FileKeySelector',
          { volumeName: always(str), path: always(str), key: always(str), optional: withDefault(pointer(bool), false) },
          { 'x-kubernetes-map-type': 'atomic' },
        ),
      ),
    }),
  ),
})

const envFrom = struct('EnvFromSource', {
  prefix: str,
  configMapRef: pointer(struct('ConfigMapEnvSource', { name: str, optional: pointer(bool) })),
  secretRef: pointer(struct('SecretEnvSource', { name: str, optional: pointer(bool) })),
})

const exec = pointer(struct('ExecAction', { command: listOf(str) }))
const httpGet = pointer(
  struct('HTTPGetAction', {
    path: withDefault(str, '/'),
    port: always(intOrString),
    host: str,
    scheme: withDefault(str, 'HTTP'),
    httpHeaders: listOf(struct('HTTPHeader', { name: always(str), value: always(str) })),
  }),
)
const tcpSocket = pointer(struct('TCPSocketAction', { port: always(intOrString), host: str }))

const lifecycleHandler = pointer(
  struct('LifecycleHandler', {
    exec,
    httpGet,
    tcpSocket,
    sleep: pointer(struct('SleepAction', { seconds: always(int64) })),
  }),
)

const probe = pointer(
  struct('Probe', {
    exec,
    httpGet,
    tcpSocket,
    grpc: pointer(struct('GRPCAction', { port: always(int32), service: withDefault(pointer(str), '') })),
    initialDelaySeconds: int32,
    timeoutSeconds: withDefault(int32, 1),
    periodSeconds: withDefault(int32, 10),
    successThreshold: withDefault(int32, 1),
    failureThreshold: withDefault(int32, 3),
    terminationGracePeriodSeconds: pointer(int64),
  }),
)

const profile = (goName: string): BuiltinSchema =>
  pointer(struct(goName, { type: always(str), localhostProfile: pointer(str) }))
export const seLinuxOptions = pointer(struct('SELinuxOptions', { user: str, role: str, type: str, level: str }))
export const windowsOptions = pointer(
  struct('WindowsSecurityContextOptions', {
    gmsaCredentialSpecName: pointer(str),
    gmsaCredentialSpec: pointer(str),
    runAsUserName: pointer(str),
    hostProcess: pointer(bool),
  }),
)
export const seccompProfile = profile('SeccompProfile')
export const appArmorProfile = profile('AppArmorProfile')

const securityContext = pointer(
  struct('SecurityContext', {
    capabilities: pointer(struct('Capabilities', { add: listOf(str), drop: listOf(str) })),
    privileged: pointer(bool),
    seLinuxOptions,
    windowsOptions,
    runAsUser: pointer(int64),
    runAsGroup: pointer(int64),
    runAsNonRoot: pointer(bool),
    readOnlyRootFilesystem: pointer(bool),
    allowPrivilegeEscalation: pointer(bool),
    procMount: pointer(str),
    seccompProfile,
    appArmorProfile,
  }),
)

export const resources: BuiltinSchema = struct('ResourceRequirements', {
  limits: mapOf(quantity),
  requests: mapOf(quantity),
  claims: mapList(['name'], struct('ResourceClaim', { name: always(str), request: str })),
})

const commonFields: Fields = {
  name: always(str),
  image: str,
  command: listOf(str),
  args: listOf(str),
  workingDir: str,
  ports: mapList(
    ['containerPort', 'protocol'],
    struct('ContainerPort', {
      name: str,
      hostPort: int32,
      containerPort: always(int32),
      protocol: withDefault(str, 'TCP'),
      hostIP: str,
    }),
  ),
  envFrom: listOf(envFrom),
  env: mapList(['name'], envVar),
  resources: always(resources),
  resizePolicy: listOf(struct('ContainerResizePolicy', { resourceName: always(str), restartPolicy: always(str) })),
  restartPolicy: pointer(str),
  restartPolicyRules: listOf(
    struct('ContainerRestartRule', {
      action: always(str),
      exitCodes: pointer(
        struct('ContainerRestartRuleOnExitCodes', {
          operator: always(str),
          values: listOf(int32, { 'x-kubernetes-list-type': 'set' }),
        }),
      ),
    }),
  ),
  volumeMounts: mapList(
    ['mountPath'],
    struct('VolumeMount', {
      name: always(str),
      readOnly: bool,
      recursiveReadOnly: pointer(str),
      mountPath: always(str),
      subPath: str,
      mountPropagation: pointer(str),
      subPathExpr: str,
    }),
  ),
  volumeDevices: mapList(['devicePath'], struct('VolumeDevice', { name: always(str), devicePath: always(str) })),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  lifecycle: pointer(
    struct('Lifecycle', { postStart: lifecycleHandler, preStop: lifecycleHandler, stopSignal: pointer(str) }),
  ),
  terminationMessagePath: withDefault(str, '/dev/termination-log'),
  terminationMessagePolicy: withDefault(str, 'File'),
  imagePullPolicy: str,
  securityContext,
  stdin: bool,
  stdinOnce: bool,
  tty: bool,
}

export const container: BuiltinSchema = struct('Container', commonFields)
export const ephemeralContainer: BuiltinSchema = struct('EphemeralContainer', {
  ...commonFields,
  targetContainerName: str,
})
