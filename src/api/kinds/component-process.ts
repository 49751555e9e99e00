// How a MachineComponent runs: the files it reads, its process, probes and hooks.
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { TEMPLATE_FORMATS } from '../templates/placeholders.ts'

const MAX_TEMPLATE_CHARS = 65_536

export const command = (doc: string) => s.list(doc, s.str('One argument.', { max: 4096 }), { min: 1, max: 64 })

const env = s.map('Environment of the process.', s.str('A value.', { max: 4096 }), { max: 64 })

export const fileMode = (doc: string) =>
  s.str(doc, { min: 3, max: 4, pattern: '^0?[0-7]{3}$', expects: 'an octal mode such as 0644' })

const UNITS = '/etc/systemd/system/'

export const file = s.rule(
  s.obj('One file rendered from the configuration.', {
    path: f.absolutePath('Path of the file.'),
    mode: s.fallback(fileMode('Mode of the file.'), '0644'),
    format: s.choice(
      'How the file is read: values are escaped for it. Plain text escapes nothing and refuses control characters.',
      TEMPLATE_FORMATS,
    ),
    template: s.str(
      'Content; {{path.to.value}} is replaced by the configuration value. There are no other template functions.',
      {
        max: MAX_TEMPLATE_CHARS,
      },
    ),
    onChange: s.fallback(s.choice('Action after the file changed.', ['Restart', 'Reload', 'None']), 'Restart'),
    existing: s.optional(
      s.choice(
        'What happens to a unit of the same name that the host has already. Replace, also if absent: this one is used. Leave: the one of the host stays in force, if it starts a program of this component. Only for units in /etc/systemd/system.',
        ['Replace', 'Leave'],
      ),
    ),
  }),
  {
    cel: `!has(self.existing) || self.path.startsWith('${UNITS}')`,
    message: `existing is only for units in ${UNITS}`,
    holds: ({ existing, path }) => existing === undefined || path.startsWith(UNITS),
  },
)

export const service = s.rule(
  s.obj('The process that the component runs as.', {
    exec: s.optional(f.absolutePath('The program.')),
    args: s.optional(s.list('Its arguments.', s.str('One argument.', { max: 4096 }), { max: 128 })),
    env: s.optional(env),
    user: s.optional(s.str('User to run as; root if absent.', { min: 1, max: 64 })),
    unit: s.optional(
      s.str('Name of the systemd unit to create or, without exec, of a unit that the component installs.', {
        min: 1,
        max: 128,
        pattern: '^[A-Za-z0-9@:_.-]+$',
        expects: 'the name of a systemd unit',
      }),
    ),
    restart: s.fallback(
      s.choice('When the process is restarted after it exited.', ['Always', 'OnFailure', 'Never']),
      'Always',
    ),
    killMode: s.fallback(
      s.choice(
        'Processes to stop: only the main process, or all its descendants. containerd and kubelet must not stop theirs.',
        ['Process', 'Group'],
      ),
      'Process',
    ),
    reloadSignal: s.optional(s.choice('Signal that reloads its files.', ['SIGHUP', 'SIGUSR1', 'SIGUSR2'])),
  }),
  {
    cel: 'has(self.exec) || has(self.unit)',
    message: 'a service needs exec, or a unit that the component installs',
    holds: (s) => s.exec !== undefined || s.unit !== undefined,
  },
)

export const probe = s.union(
  s.obj('One health check of the component.', {
    name: f.dnsLabel('Name of the probe.'),
    exec: s.optional(s.obj('A command that must exit with code 0.', { command: command('Program and arguments.') })),
    http: s.optional(
      s.obj('A request to the node that must return a 2xx or 3xx status.', {
        port: f.port('Port on the loopback address.'),
        path: s.fallback(
          s.str('Path of the request.', { min: 1, max: 1024, pattern: '^/', expects: 'a path that starts with "/"' }),
          '/healthz',
        ),
        tls: s.fallback(s.bool('Whether to use TLS (the certificate is not verified on loopback).'), false),
      }),
    ),
    tcp: s.optional(s.obj('A port that must accept a connection.', { port: f.port('Port on the loopback address.') })),
    file: s.optional(
      s.obj('A file that must exist and, optionally, be recent.', {
        path: f.absolutePath('The file.'),
        maxAge: s.optional(f.duration('Maximum age of the file.')),
      }),
    ),
    unit: s.optional(
      s.obj('A systemd unit that must be active.', {
        name: s.str('Name of the unit.', {
          min: 1,
          max: 128,
          pattern: '^[A-Za-z0-9@:_.-]+$',
          expects: 'the name of a systemd unit',
        }),
      }),
    ),
    cri: s.optional(
      s.obj('A container runtime that must report itself ready through its CRI.', {
        socket: f.absolutePath('Its socket.'),
      }),
    ),
    nodeLease: s.optional(
      s.obj(
        "The node's Lease, which the kubelet must keep recent. Without the API server it is unknown and fails nothing.",
        {
          maxAge: s.fallback(f.duration('Maximum age of its last renewal.'), '40s'),
        },
      ),
    ),
    interval: s.fallback(f.duration('Time between two probes.'), '10s'),
    timeout: s.fallback(f.duration('Timeout of one probe.'), '3s'),
    settle: s.fallback(
      f.duration('How long the probe must pass after a switch before the switch counts as successful.'),
      '15s',
    ),
  }),
  ['exec', 'http', 'tcp', 'file', 'unit', 'cri', 'nodeLease'],
)

const hook = (doc: string) =>
  s.obj(doc, {
    command: command('Program and arguments; no shell.'),
    timeout: s.fallback(f.duration('Timeout after which it is killed and counts as failed.'), '60s'),
  })

export const hooks = s.obj('Programs that run before or after installation and switch; each must be safe to repeat.', {
  preInstall: s.optional(hook('Before files are installed.')),
  postInstall: s.optional(hook('After files were installed.')),
  preSwitch: s.optional(hook('Before the old version stops.')),
  postSwitch: s.optional(hook('After the new version started.')),
  uninstall: s.optional(hook('When the component is removed from the machine.')),
})
