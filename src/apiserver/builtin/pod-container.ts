// The containers of a pod: fields and defaults that the ordinary, init and ephemeral ones share.
import * as s from './shape.ts'
import type { Fields } from './shape.ts'
import type { BuiltinSchema } from './kind.ts'
import { objectFieldSelector, resourceFieldSelector } from './pod-volumes.ts'

const selectKey = (goName: string): BuiltinSchema =>
  s.struct(
    goName,
    { name: s.str, key: s.always(s.str), optional: s.pointer(s.bool) },
    { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
  )

const envVar = s.struct('EnvVar', {
  name: s.always(s.str),
  value: s.str,
  valueFrom: s.pointer(
    s.struct('EnvVarSource', {
      fieldRef: objectFieldSelector,
      resourceFieldRef: resourceFieldSelector,
      configMapKeyRef: selectKey('ConfigMapKeySelector'),
      secretKeyRef: selectKey('SecretKeySelector'),
      fileKeyRef: s.pointer(
        s.struct(
          'FileKeySelector',
          {
            volumeName: s.always(s.str),
            path: s.always(s.str),
            key: s.always(s.str),
            optional: s.withDefault(s.pointer(s.bool), false),
          },
          { 'x-kubernetes-map-type': 'atomic' },
        ),
      ),
    }),
  ),
})

const envFrom = s.struct('EnvFromSource', {
  prefix: s.str,
  configMapRef: s.pointer(s.struct('ConfigMapEnvSource', { name: s.str, optional: s.pointer(s.bool) })),
  secretRef: s.pointer(s.struct('SecretEnvSource', { name: s.str, optional: s.pointer(s.bool) })),
})

const exec = s.pointer(s.struct('ExecAction', { command: s.listOf(s.str) }))
const httpGet = s.pointer(
  s.struct('HTTPGetAction', {
    path: s.withDefault(s.str, '/'),
    port: s.always(s.intOrString),
    host: s.str,
    scheme: s.withDefault(s.str, 'HTTP'),
    httpHeaders: s.listOf(s.struct('HTTPHeader', { name: s.always(s.str), value: s.always(s.str) })),
  }),
)
const tcpSocket = s.pointer(s.struct('TCPSocketAction', { port: s.always(s.intOrString), host: s.str }))

const lifecycleHandler = s.pointer(
  s.struct('LifecycleHandler', {
    exec,
    httpGet,
    tcpSocket,
    sleep: s.pointer(s.struct('SleepAction', { seconds: s.always(s.int64) })),
  }),
)

const probe = s.pointer(
  s.struct('Probe', {
    exec,
    httpGet,
    tcpSocket,
    grpc: s.pointer(s.struct('GRPCAction', { port: s.always(s.int32), service: s.withDefault(s.pointer(s.str), '') })),
    initialDelaySeconds: s.int32,
    timeoutSeconds: s.withDefault(s.int32, 1),
    periodSeconds: s.withDefault(s.int32, 10),
    successThreshold: s.withDefault(s.int32, 1),
    failureThreshold: s.withDefault(s.int32, 3),
    terminationGracePeriodSeconds: s.pointer(s.int64),
  }),
)

const profile = (goName: string): BuiltinSchema =>
  s.pointer(s.struct(goName, { type: s.always(s.str), localhostProfile: s.pointer(s.str) }))
export const seLinuxOptions = s.pointer(
  s.struct('SELinuxOptions', { user: s.str, role: s.str, type: s.str, level: s.str }),
)
export const windowsOptions = s.pointer(
  s.struct('WindowsSecurityContextOptions', {
    gmsaCredentialSpecName: s.pointer(s.str),
    gmsaCredentialSpec: s.pointer(s.str),
    runAsUserName: s.pointer(s.str),
    hostProcess: s.pointer(s.bool),
  }),
)
export const seccompProfile = profile('SeccompProfile')
export const appArmorProfile = profile('AppArmorProfile')

const securityContext = s.pointer(
  s.struct('SecurityContext', {
    capabilities: s.pointer(s.struct('Capabilities', { add: s.listOf(s.str), drop: s.listOf(s.str) })),
    privileged: s.pointer(s.bool),
    seLinuxOptions,
    windowsOptions,
    runAsUser: s.pointer(s.int64),
    runAsGroup: s.pointer(s.int64),
    runAsNonRoot: s.pointer(s.bool),
    readOnlyRootFilesystem: s.pointer(s.bool),
    allowPrivilegeEscalation: s.pointer(s.bool),
    procMount: s.pointer(s.str),
    seccompProfile,
    appArmorProfile,
  }),
)

export const resources: BuiltinSchema = s.struct('ResourceRequirements', {
  limits: s.mapOf(s.quantity),
  requests: s.mapOf(s.quantity),
  claims: s.mapList(['name'], s.struct('ResourceClaim', { name: s.always(s.str), request: s.str })),
})

const commonFields: Fields = {
  name: s.always(s.str),
  image: s.str,
  command: s.listOf(s.str),
  args: s.listOf(s.str),
  workingDir: s.str,
  ports: s.mapList(
    ['containerPort', 'protocol'],
    s.struct('ContainerPort', {
      name: s.str,
      hostPort: s.int32,
      containerPort: s.always(s.int32),
      protocol: s.withDefault(s.str, 'TCP'),
      hostIP: s.str,
    }),
  ),
  envFrom: s.listOf(envFrom),
  env: s.mapList(['name'], envVar),
  resources: s.always(resources),
  resizePolicy: s.listOf(
    s.struct('ContainerResizePolicy', { resourceName: s.always(s.str), restartPolicy: s.always(s.str) }),
  ),
  restartPolicy: s.pointer(s.str),
  restartPolicyRules: s.listOf(
    s.struct('ContainerRestartRule', {
      action: s.always(s.str),
      exitCodes: s.pointer(
        s.struct('ContainerRestartRuleOnExitCodes', {
          operator: s.always(s.str),
          values: s.listOf(s.int32, { 'x-kubernetes-list-type': 'set' }),
        }),
      ),
    }),
  ),
  volumeMounts: s.mapList(
    ['mountPath'],
    s.struct('VolumeMount', {
      name: s.always(s.str),
      readOnly: s.bool,
      recursiveReadOnly: s.pointer(s.str),
      mountPath: s.always(s.str),
      subPath: s.str,
      mountPropagation: s.pointer(s.str),
      subPathExpr: s.str,
    }),
  ),
  volumeDevices: s.mapList(
    ['devicePath'],
    s.struct('VolumeDevice', { name: s.always(s.str), devicePath: s.always(s.str) }),
  ),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  lifecycle: s.pointer(
    s.struct('Lifecycle', { postStart: lifecycleHandler, preStop: lifecycleHandler, stopSignal: s.pointer(s.str) }),
  ),
  terminationMessagePath: s.withDefault(s.str, '/dev/termination-log'),
  terminationMessagePolicy: s.withDefault(s.str, 'File'),
  imagePullPolicy: s.str,
  securityContext,
  stdin: s.bool,
  stdinOnce: s.bool,
  tty: s.bool,
}

export const container: BuiltinSchema = s.struct('Container', commonFields)
export const ephemeralContainer: BuiltinSchema = s.struct('EphemeralContainer', {
  ...commonFields,
  targetContainerName: s.str,
})
