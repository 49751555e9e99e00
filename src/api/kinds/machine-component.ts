// MachineComponent: one immutable, signed version of a node component: how to fetch, verify, install, run and probe it.
import { componentObjectName } from '#lib/names.ts'
import { parseRange } from '#lib/semver.ts'
import { text } from '../columns.ts'
import * as s from '../build.ts'
import { check } from '../extras.ts'
import * as f from '../fields.ts'
import { takenFromHost } from '../reserved-paths.ts'
import { readTemplate } from '../templates/placeholders.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { os } from './component-os.ts'
import { command, file, fileMode, hooks, probe, service } from './component-process.ts'

/** Larger than any known node component; beyond this it is a mistake. */
const MAX_ARTIFACT_BYTES = 16 * 2 ** 30
const MAX_PROBES = 16

const artifactUrl = (doc: string) =>
  s.str(doc, {
    min: 1,
    max: 2048,
    pattern: '^[^\\s\\x00-\\x1f]+$',
    expects: "an absolute URL, or a path relative to the agent's artifact base",
  })

const artifact = s.obj('One artifact for one platform.', {
  os: s.fallback(s.choice('Operating system.', ['linux', 'darwin']), 'linux'),
  arch: s.choice('Processor architecture.', ['amd64', 'arm64', 'riscv64', 'ppc64le', 's390x', 'any']),
  url: artifactUrl("The source: an absolute URL, or a path relative to the agent's artifact base."),
  mirrors: s.optional(s.list('Mirrors with the same content, tried in order.', artifactUrl('A URL.'), { max: 8 })),
  sha256: f.sha256('SHA-256 of the content; anything else is refused.'),
  size: s.int('Size in bytes; the agent never downloads more.', { min: 1, max: MAX_ARTIFACT_BYTES }),
})

const install = s.union(
  s.obj('How the artifact is installed.', {
    binaries: s.optional(
      s.list(
        'The artifact is one program, or an archive that contains these programs.',
        s.obj('One program.', {
          source: s.optional(
            s.str('Path inside the archive; absent when the artifact is the program.', { min: 1, max: 1024 }),
          ),
          path: f.absolutePath('Path to install the program to.'),
          mode: s.fallback(fileMode('Mode of the file.'), '0755'),
        }),
        { min: 1, max: 32 },
      ),
    ),
    unpack: s.optional(
      s.obj('Unpacks the whole archive.', {
        path: f.absolutePath('Target directory; a link to the version in use.'),
        strip: s.fallback(s.int('Number of leading path components to strip.', { min: 0, max: 16 }), 0),
      }),
    ),
  }),
  ['binaries', 'unpack'],
)

const rangeProblem = (value: unknown): string | undefined =>
  typeof value === 'string' && parseRange(value) === undefined ? 'is not a version range' : undefined

const requirement = s.obj('Another required component.', {
  component: f.componentName('The other component.'),
  range: s.refine(
    s.str('Accepted versions, such as ">=1.30 <1.36".', { min: 1, max: 128 }),
    {},
    {
      expects: 'a semver range such as ">=1.30 <1.36", "^2.1" or "1.x"',
      checks: [check('semver range', rangeProblem)],
    },
  ),
})

const skew = s.obj('Permitted distance from the version of the API server, in minor versions.', {
  maxAheadOfApiServer: s.fallback(s.int('Number of minor versions that it may be newer.', { min: 0, max: 10 }), 0),
  maxBehindApiServer: s.fallback(s.int('Number of minor versions that it may be older.', { min: 0, max: 10 }), 3),
})

const needs = s.obj('Requirements of the node; on other nodes it is refused before anything is downloaded.', {
  cgroup: s.optional(s.choice('Required cgroup version.', ['V1', 'V2'])),
  kernel: s.optional(
    s.refine(
      s.str('Accepted kernel releases, such as ">=5.10".', { min: 1, max: 128 }),
      {},
      { expects: 'a semver range such as ">=5.10"', checks: [check('semver range', rangeProblem)] },
    ),
  ),
  distributions: s.optional(
    s.mapList(
      'Accepted distributions of Linux.',
      s.obj('One distribution.', {
        id: s.str(
          'Its ID in os-release, such as debian or rhel. Without a range it also accepts what is made from it.',
          {
            min: 1,
            max: 64,
            pattern: '^[a-z0-9._-]+$',
            expects: 'an ID of os-release, such as debian',
          },
        ),
        range: s.optional(
          s.refine(
            s.str('Accepted versions of exactly this distribution, such as ">=12".', { min: 1, max: 128 }),
            {},
            { expects: 'a semver range such as ">=12"', checks: [check('semver range', rangeProblem)] },
          ),
        ),
      }),
      { keys: ['id'], min: 1, max: 16 },
    ),
  ),
  bootArguments: s.optional(
    s.setOf(
      'Arguments that the kernel must have been booted with, such as "hugepagesz=1G"; without a value any value is accepted. Only arguments that agents report.',
      s.str('An argument.', { min: 1, max: 128, pattern: '^[^\\s"]+$', expects: 'one argument without spaces' }),
      { min: 1, max: 16 },
    ),
  ),
})

const props = {
  component: f.componentName('The component.'),
  version: f.componentVersion('The version; opaque unless used in requires or skew.'),
  type: s.fallback(
    s.choice(
      'How it runs: installed by the agent, as a DaemonSet, as a script for repairs, or as the kernel that the machine boots.',
      ['Package', 'DaemonSet', 'Script', 'OS'],
    ),
    'Package',
  ),
  artifacts: s.optional(s.mapList('Artifacts, one per platform.', artifact, { keys: ['os', 'arch'], max: 16 })),
  signatures: s.optional(
    s.mapList(
      'Ed25519 signatures over the canonical spec without this field.',
      s.obj('One signature.', {
        keyId: s.str('ID of the key.', { min: 1, max: 128 }),
        value: s.str('The signature, base64.', {
          min: 16,
          max: 1024,
          pattern: '^[A-Za-z0-9+/]+=*$',
          expects: 'base64',
        }),
      }),
      { keys: ['keyId'], max: 8 },
    ),
  ),
  install: s.optional(install),
  files: s.optional(s.mapList('Files that belong to the component.', file, { keys: ['path'], max: 64 })),
  service: s.optional(service),
  os: s.optional(os),
  script: s.optional(
    s.obj('How a component of type Script runs.', {
      command: command('Program and arguments; install must contain the program.'),
      timeout: s.fallback(f.duration('Timeout after which it is killed.'), '5m'),
    }),
  ),
  daemonSet: s.optional(
    s.obj('The workload of a component of type DaemonSet; its update strategy must be OnDelete.', {
      namespace: f.dnsLabel('Namespace of the workload.'),
      name: f.objectName('Name of the workload.'),
    }),
  ),
  probes: s.optional(s.mapList('Health checks.', probe, { keys: ['name'], max: MAX_PROBES })),
  hooks: s.optional(hooks),
  requires: s.optional(
    s.mapList('Components that must be installed first.', requirement, { keys: ['component'], max: 32 }),
  ),
  skew: s.optional(skew),
  needs: s.optional(needs),
  disruption: s.fallback(
    s.choice('Effect of a switch on the pods of the node.', ['None', 'Restart', 'Drain', 'Reboot']),
    'Drain',
  ),
  drainOn: s.fallback(
    s.choice(
      'Which switches drain the node if disruption requires it: all, or only those that change more than the patch version.',
      ['Minor', 'Always'],
    ),
    'Always',
  ),
}

let spec = s.immutableBut(
  s.obj('The version. Immutable, except for its signatures: other keys may sign the same content.', props),
  ['signatures'],
  'a MachineComponent is immutable; create another version',
)
spec = s.rule(spec, {
  cel: "self.type in ['DaemonSet', 'OS'] || has(self.install)",
  message: 'types Package and Script require install',
  fieldPath: '.install',
  holds: (s) => s.type === 'DaemonSet' || s.type === 'OS' || s.install !== undefined,
})
spec = s.rule(spec, {
  cel: 'has(self.install) ? has(self.artifacts) && self.artifacts.size() > 0 : true',
  message: 'install requires artifacts',
  fieldPath: '.artifacts',
  holds: (s) => s.install === undefined || (s.artifacts ?? []).length > 0,
})
spec = s.rule(spec, {
  cel: "(self.type == 'DaemonSet') == has(self.daemonSet)",
  message: 'daemonSet is required for type DaemonSet, and not allowed for others',
  fieldPath: '.daemonSet',
  holds: (s) => (s.type === 'DaemonSet') === (s.daemonSet !== undefined),
})
spec = s.rule(spec, {
  cel: "(self.type == 'Script') == has(self.script)",
  message: 'script is required for type Script, and not allowed for others',
  fieldPath: '.script',
  holds: (s) => (s.type === 'Script') === (s.script !== undefined),
})
spec = s.rule(spec, {
  cel: "(self.type == 'OS') == has(self.os)",
  message: 'os is required for type OS, and not allowed for others',
  fieldPath: '.os',
  holds: (s) => (s.type === 'OS') === (s.os !== undefined),
})
spec = s.rule(spec, {
  cel: "self.type == 'OS' ? !has(self.install) && !has(self.service) : true",
  message: 'type OS has neither install nor service: what its archive holds is in os.packages',
  fieldPath: '.os',
  holds: (s) => s.type !== 'OS' || (s.install === undefined && s.service === undefined),
})
spec = s.rule(spec, {
  cel: 'has(self.os) && has(self.os.packages) ? has(self.artifacts) && self.artifacts.size() > 0 : true',
  message: 'os.packages requires artifacts',
  fieldPath: '.artifacts',
  holds: (s) => s.os?.packages === undefined || (s.artifacts ?? []).length > 0,
})
spec = s.rule(spec, {
  cel: "self.type == 'OS' ? self.disruption == 'Reboot' : true",
  message: 'type OS requires disruption Reboot',
  fieldPath: '.disruption',
  holds: (s) => s.type !== 'OS' || s.disruption === 'Reboot',
})
spec = s.rule(spec, {
  cel: "self.type == 'OS' ? has(self.probes) && self.probes.size() > 0 : true",
  message: 'type OS requires a probe: without one a kernel becomes the default as soon as it has booted',
  fieldPath: '.probes',
  holds: (s) => s.type !== 'OS' || (s.probes ?? []).length > 0,
})

const status = f.status('The observed state of the version.', {
  machines: s.optional(s.int('Number of machines that are to run this version.', { min: 0, max: 1_000_000 })),
})

export const machineComponent = defineKind('MachineComponent', 'kmc', {
  doc: 'One immutable, signed version of a node component: how to download, verify, install, run and probe it.',
  spec,
  status,
  selectable: ['.spec.component', '.spec.version', '.spec.type'],
  columns: [
    text('Component', '.spec.component'),
    text('Version', '.spec.version'),
    text('Type', '.spec.type'),
    text('Disruption', '.spec.disruption'),
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
      name: 'it takes nothing that a host or its agent does not run without',
      findings: ({ spec: s }) =>
        takenFromHost(s).map(({ pointer, name, owner }) => ({
          pointer: `spec/${pointer}`,
          message: `${name} belongs to ${owner}, and a host does not run without it`,
        })),
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
