// The numbered errors of the CLI that belong to no room of it: its start, its command line, and commands of one file.
import { errorTable } from '#lib/error-table.ts'

export const cliErrors = errorTable({
  KN1000: {
    text: 'kubenode hit a bug',
    next: 'please report it with the lines below\n{stack}',
  },
  KN1001: {
    text: 'cannot start kubenode: it needs Node 26 or newer, found {node}',
    next: 'run npm ci in {root}, which installs one',
  },
  KN1002: {
    text: 'cannot read the command line: {why}',
    next: 'run kubenode --help, or kubenode COMMAND --help',
  },
  KN1003: {
    text: 'cannot {what}: {why}',
    next: 'correct this and try again',
  },
  KN1004: {
    text: 'cannot use {variable}={text}: {why}',
    next: 'correct the environment variable, or unset it',
  },
  KN1005: {
    text: 'cannot write to standard output: {why}',
    next: 'make room there and run the command again',
  },
  KN1006: {
    text: 'cannot start kubenode: Node 26 does not start without the library libatomic.so.1',
    next: 'install it: apt-get install libatomic1 (Debian, Ubuntu), or dnf install libatomic (RHEL, Fedora)',
  },
  KN1031: {
    text: 'cannot listen on port {text}: not a number from 0 to 65535',
    next: 'give one with --port',
  },
  KN1050: {
    text: 'cannot bundle the agent in {root}: the bundler is not installed',
    next: 'run npm ci without --omit=dev',
  },
  KN1051: {
    text: 'cannot make the archive of agents with {node}: {why}',
    next: 'give --node a Node.js program for Linux, one for each kind of processor',
  },
  KN1090: {
    text: 'cannot run a control plane named {id}: not a namespace and a name with a dot between them',
    next: 'ask for it as namespace.name of its Cluster',
  },
  KN1091: {
    text: 'cannot read {file}: no record of the control plane in its folder',
    next: 'restore the file from a backup, or move its folder away and let the Cluster be made again',
  },
  KN1092: {
    text: 'cannot name a snapshot {name}',
    next: 'use lowercase letters, digits, dots and dashes',
  },
  KN1093: {
    text: 'cannot ask the host of control planes at {socket}: {why}',
    next: 'check that kubenode apiserver runs there with --control-planes and --control-socket',
  },
  KN1094: {
    text: 'cannot run control planes with one of --control-planes and --control-socket alone',
    next: 'give both: a folder, and the socket at which role cluster asks',
  },
  KN1096: {
    text: 'cannot use {option} {text}',
    next: 'write a number from 1 to 9999',
  },
  KN1095: {
    text: 'cannot start without a server of its own: no control planes are to run either',
    next: 'give --control-planes and --control-socket with --no-server',
  },
  KN1097: {
    text: 'cannot run control planes of the programs in {folder}: {why}',
    next: 'name a folder with etcd, kube-apiserver and kube-controller-manager of one version of Kubernetes',
  },
  KN1214: {
    text: 'cannot create {text} nodes per cluster',
    next: 'give a number from 1 to {maxLocalNodes}',
  },
})
