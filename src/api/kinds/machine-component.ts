// MachineComponent: one immutable, signed version of one node component: how to get, verify, install, run and probe it.
import { componentObjectName } from '#lib/names.ts'
import { parseRange } from '#lib/semver.ts'
import { AGE, text } from '../columns.ts'
import {
  bool,
  choice,
  fallback,
  immutableBut,
  int,
  list,
  map,
  mapList,
  obj,
  optional,
  refine,
  rule,
  str,
  union,
  unserved,
} from '../build.ts'
import { check } from '../extras.ts'
import {
  absolutePath,
  componentName,
  componentVersion,
  conditions,
  duration,
  objectName,
  observedGeneration,
  dnsLabel,
  port,
  sha256,
} from '../fields.ts'
import { TEMPLATE_FORMATS, readTemplate } from '../templates/placeholders.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'

/** Larger than any node component seen; a mistake above. */
const MAX_ARTIFACT_BYTES = 16 * 2 ** 30
const MAX_TEMPLATE_CHARS = 65_536
const MAX_PROBES = 16

const artifactUrl = (doc: string) =>
  str(doc, {
    min: 1,
    max: 2048,
    pattern: '^[^\\s\\x00-\\x1f]+$',
    says: "an absolute URL, or a path relative to the agent's artifact base",
  })

const command = (doc: string) => list(doc, str('One argument.', { max: 4096 }), { min: 1, max: 64 })

const env = map('Environment of the process.', str('A value.', { max: 4096 }), { max: 64 })

const fileMode = (doc: string) =>
  str(doc, { min: 3, max: 4, pattern: '^0?[0-7]{3}$', says: 'an octal mode such as 0644' })

const artifact = obj('One artifact for one platform.', {
  os: fallback(choice('Operating system.', ['linux', 'darwin']), 'linux'),
  arch: choice('Processor architecture.', ['amd64', 'arm64', 'riscv64', 'ppc64le', 's390x', 'any']),
  url: artifactUrl("The source: an absolute URL, or a path relative to the agent's artifact base."),
  mirrors: optional(list('Mirrors with the same content, tried in order.', artifactUrl('A URL.'), { max: 8 })),
  sha256: sha256('SHA-256 of the content; anything else is refused.'),
  size: int('Size in bytes; the agent never downloads more.', { min: 1, max: MAX_ARTIFACT_BYTES }),
})

const install = union(
  obj('How the artifact is installed.', {
    binaries: optional(
      list(
        'The artifact is one program, or an archive that contains these programs.',
        obj('One program.', {
          source: optional(
            str('Path inside the archive; absent when the artifact is the program.', { min: 1, max: 1024 }),
          ),
          path: absolutePath('Path to install the program to.'),
          mode: fallback(fileMode('Mode of the file.'), '0755'),
        }),
        { min: 1, max: 32 },
      ),
    ),
    unpack: optional(
      obj('Unpacks the whole archive.', {
        path: absolutePath('Target directory; a link to the version in use.'),
        strip: fallback(int('Number of leading path components to strip.', { min: 0, max: 16 }), 0),
      }),
    ),
  }),
  ['binaries', 'unpack'],
)

const file = obj('One file rendered from the configuration.', {
  path: absolutePath('Path of the file.'),
  mode: fallback(fileMode('Mode of the file.'), '0644'),
  format: choice(
    'How the file is read: values are escaped for it. Plain text escapes nothing and refuses control characters.',
    TEMPLATE_FORMATS,
  ),
  template: str(
    'Content; {{path.to.value}} is replaced by the configuration value. There are no other template functions.',
    {
      max: MAX_TEMPLATE_CHARS,
    },
  ),
  onChange: fallback(choice('Action after the file changed.', ['Restart', 'Reload', 'None']), 'Restart'),
})

const service = rule(
  obj('The process that the component runs as.', {
    exec: optional(absolutePath('The program.')),
    args: optional(list('Its arguments.', str('One argument.', { max: 4096 }), { max: 128 })),
    env: optional(env),
    user: optional(str('User to run as; root if absent.', { min: 1, max: 64 })),
    unit: optional(
      str('Name of the systemd unit to create or, without exec, of a unit that the component installs.', {
        min: 1,
        max: 128,
        pattern: '^[A-Za-z0-9@:_.-]+$',
        says: 'the name of a systemd unit',
      }),
    ),
    restart: fallback(
      choice('When the process is restarted after it exited.', ['Always', 'OnFailure', 'Never']),
      'Always',
    ),
    killMode: fallback(
      choice(
        'Processes to stop: only the main process, or all its descendants. containerd and kubelet must not stop theirs.',
        ['Process', 'Group'],
      ),
      'Process',
    ),
    reloadSignal: optional(choice('Signal that reloads its files.', ['SIGHUP', 'SIGUSR1', 'SIGUSR2'])),
  }),
  {
    cel: 'has(self.exec) || has(self.unit)',
    message: 'a service needs exec, or a unit that the component installs',
    holds: (s) => s.exec !== undefined || s.unit !== undefined,
  },
)

const probe = union(
  obj('One health check of the component.', {
    name: dnsLabel('Name of the probe.'),
    exec: optional(obj('A command that must exit with code 0.', { command: command('Program and arguments.') })),
    http: optional(
      obj('A request to the node that must return a 2xx or 3xx status.', {
        port: port('Port on the loopback address.'),
        path: fallback(
          str('Path of the request.', { min: 1, max: 1024, pattern: '^/', says: 'a path that starts with "/"' }),
          '/healthz',
        ),
        tls: fallback(bool('Whether to use TLS (the certificate is not verified on loopback).'), false),
      }),
    ),
    tcp: optional(obj('A port that must accept a connection.', { port: port('Port on the loopback address.') })),
    file: optional(
      obj('A file that must exist and, optionally, be recent.', {
        path: absolutePath('The file.'),
        maxAge: optional(duration('Maximum age of the file.')),
      }),
    ),
    unit: optional(
      obj('A systemd unit that must be active.', {
        name: str('Name of the unit.', {
          min: 1,
          max: 128,
          pattern: '^[A-Za-z0-9@:_.-]+$',
          says: 'the name of a systemd unit',
        }),
      }),
    ),
    interval: fallback(duration('Time between two probes.'), '10s'),
    timeout: fallback(duration('Timeout of one probe.'), '3s'),
    settle: fallback(
      duration('How long the probe must pass after a switch before the switch counts as successful.'),
      '15s',
    ),
  }),
  ['exec', 'http', 'tcp', 'file', 'unit'],
)

const hook = (doc: string) =>
  obj(doc, {
    command: command('Program and arguments; no shell.'),
    timeout: fallback(duration('Timeout after which it is killed and counts as failed.'), '60s'),
  })

const hooks = obj('Programs that run before or after installation and switch; each must be safe to repeat.', {
  preInstall: optional(hook('Before files are installed.')),
  postInstall: optional(hook('After files were installed.')),
  preSwitch: optional(hook('Before the old version stops.')),
  postSwitch: optional(hook('After the new version started.')),
  uninstall: optional(hook('When the component is removed from the machine.')),
})

const rangeProblem = (value: unknown): string | undefined =>
  typeof value === 'string' && parseRange(value) === undefined ? 'is not a version range' : undefined

const requirement = obj('Another required component.', {
  component: componentName('The other component.'),
  range: refine(
    str('Accepted versions, such as ">=1.30 <1.36".', { min: 1, max: 128 }),
    {},
    { says: 'a semver range such as ">=1.30 <1.36", "^2.1" or "1.x"', checks: [check('semver range', rangeProblem)] },
  ),
})

const skew = obj('Permitted distance from the version of the API server, in minor versions.', {
  maxAheadOfApiServer: fallback(int('Number of minor versions that it may be newer.', { min: 0, max: 10 }), 0),
  maxBehindApiServer: fallback(int('Number of minor versions that it may be older.', { min: 0, max: 10 }), 3),
})

const needs = obj('Requirements of the node; on other nodes it is refused before anything is downloaded.', {
  cgroup: optional(choice('Required cgroup version.', ['V1', 'V2'])),
  kernel: optional(
    refine(
      str('Accepted kernel releases, such as ">=5.10".', { min: 1, max: 128 }),
      {},
      { says: 'a semver range such as ">=5.10"', checks: [check('semver range', rangeProblem)] },
    ),
  ),
})

const props = {
  component: componentName('The component.'),
  version: componentVersion('The version; opaque unless used in requires or skew.'),
  type: fallback(
    unserved(
      choice(
        'How it runs: installed by the agent, as a DaemonSet, as a script for repairs, or as the operating system.',
        ['Package', 'DaemonSet', 'Script', 'OS'],
      ),
      'operating systems are not installed',
      ['OS'],
    ),
    'Package',
  ),
  artifacts: optional(mapList('Artifacts, one per platform.', artifact, { keys: ['os', 'arch'], max: 16 })),
  signatures: optional(
    mapList(
      'Ed25519 signatures over the canonical spec without this field.',
      obj('One signature.', {
        keyId: str('ID of the key.', { min: 1, max: 128 }),
        value: str('The signature, base64.', { min: 16, max: 1024, pattern: '^[A-Za-z0-9+/]+=*$', says: 'base64' }),
      }),
      { keys: ['keyId'], max: 8 },
    ),
  ),
  install: optional(install),
  files: optional(mapList('Files that belong to the component.', file, { keys: ['path'], max: 64 })),
  service: optional(service),
  script: optional(
    obj('How a component of type Script runs.', {
      command: command('Program and arguments; install must contain the program.'),
      timeout: fallback(duration('Timeout after which it is killed.'), '5m'),
    }),
  ),
  daemonSet: optional(
    obj('The workload of a component of type DaemonSet; its update strategy must be OnDelete.', {
      namespace: dnsLabel('Namespace of the workload.'),
      name: objectName('Name of the workload.'),
    }),
  ),
  probes: optional(mapList('Health checks.', probe, { keys: ['name'], max: MAX_PROBES })),
  hooks: optional(hooks),
  requires: optional(
    mapList('Components that must be installed first.', requirement, { keys: ['component'], max: 32 }),
  ),
  skew: optional(skew),
  needs: optional(needs),
  disruption: fallback(
    choice('Effect of a switch on the pods of the node.', ['None', 'Restart', 'Drain', 'Reboot']),
    'Drain',
  ),
  drainOn: fallback(
    choice(
      'Which switches drain the node if disruption requires it: all, or only those that change more than the patch version.',
      ['Minor', 'Always'],
    ),
    'Always',
  ),
}

let spec = immutableBut(
  obj('The version. Immutable, except for its signatures: other keys may sign the same content.', props),
  ['signatures'],
  'a MachineComponent is immutable; create another version',
)
spec = rule(spec, {
  cel: "self.type in ['DaemonSet', 'OS'] || has(self.install)",
  message: 'types Package and Script require install',
  fieldPath: '.install',
  holds: (s) => s.type === 'DaemonSet' || s.type === 'OS' || s.install !== undefined,
})
spec = rule(spec, {
  cel: 'has(self.install) ? has(self.artifacts) && self.artifacts.size() > 0 : true',
  message: 'install requires artifacts',
  fieldPath: '.artifacts',
  holds: (s) => s.install === undefined || (s.artifacts ?? []).length > 0,
})
spec = rule(spec, {
  cel: "(self.type == 'DaemonSet') == has(self.daemonSet)",
  message: 'daemonSet is required for type DaemonSet, and not allowed for others',
  fieldPath: '.daemonSet',
  holds: (s) => (s.type === 'DaemonSet') === (s.daemonSet !== undefined),
})
spec = rule(spec, {
  cel: "(self.type == 'Script') == has(self.script)",
  message: 'script is required for type Script, and not allowed for others',
  fieldPath: '.script',
  holds: (s) => (s.type === 'Script') === (s.script !== undefined),
})
spec = rule(spec, {
  cel: "self.type == 'OS' ? self.disruption == 'Reboot' : true",
  message: 'type OS requires disruption Reboot',
  fieldPath: '.disruption',
  holds: (s) => s.type !== 'OS' || s.disruption === 'Reboot',
})

const status = obj('The observed state of the version.', {
  observedGeneration: optional(observedGeneration()),
  machines: optional(int('Number of machines that are to run this version.', { min: 0, max: 1_000_000 })),
  conditions: optional(conditions()),
})

export const machineComponent = defineKind({
  kind: 'MachineComponent',
  plural: 'machinecomponents',
  shortNames: ['kmc'],
  namespaced: false,
  doc: 'One immutable, signed version of a node component: how to download, verify, install, run and probe it.',
  spec,
  status,
  selectable: ['.spec.component', '.spec.version', '.spec.type'],
  columns: [
    text('Component', '.spec.component'),
    text('Version', '.spec.version'),
    text('Type', '.spec.type'),
    text('Disruption', '.spec.disruption'),
    AGE,
  ],
  checks: [
    {
      name: 'the name consists of component and version',
      findings: (object) => {
        const { metadata, spec: s } = object
        const name = componentObjectName(s.component, s.version)
        return metadata.name === name
          ? []
          : [{ pointer: 'metadata/name', message: `is not the name of ${s.component} ${s.version}`, allowed: name }]
      },
    },
    {
      name: 'values can stand where its templates have placeholders',
      findings: (object) =>
        (object.spec.files ?? []).flatMap(({ template, format }, i) => {
          const read = readTemplate(template, format)
          return read.ok ? [] : [{ pointer: `spec/files/${i}/template`, message: read.problem }]
        }),
    },
    {
      name: 'it does not require itself',
      findings: (object) => {
        const { component, requires = [] } = object.spec
        return requires.flatMap((r, i) =>
          r.component === component ? [{ pointer: `spec/requires/${i}/component`, message: 'requires itself' }] : [],
        )
      },
    },
  ],
  example: {
    metadata: { name: componentObjectName('containerd', '2.1.4') },
    spec: {
      component: 'containerd',
      version: '2.1.4',
      type: 'Package',
      artifacts: [
        {
          os: 'linux',
          arch: 'amd64',
          url: 'containerd/containerd-2.1.4-linux-amd64.tar.gz',
          mirrors: ['https://mirror.example.org/containerd-2.1.4-linux-amd64.tar.gz'],
          sha256: '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef',
          size: 33_000_000,
        },
      ],
      install: { binaries: [{ source: 'bin/containerd', path: '/usr/local/bin/containerd' }] },
      files: [
        {
          path: '/etc/containerd/config.toml',
          format: 'toml',
          template: 'version = 3\nroot = "{{root}}"\n',
          onChange: 'Restart',
        },
      ],
      service: { exec: '/usr/local/bin/containerd', args: ['--log-level', 'info'], unit: 'containerd.service' },
      probes: [{ name: 'socket', file: { path: '/run/containerd/containerd.sock' }, settle: '20s' }],
      requires: [{ component: 'runc', range: '>=1.2 <2' }],
      disruption: 'Restart',
      drainOn: 'Minor',
    },
  },
})

export type MachineComponent = ObjectOf<typeof machineComponent>
export type MachineComponentInput = InputOf<typeof machineComponent>
export type MachineComponentSpec = SpecOf<typeof machineComponent>
