// The numbered errors of commands for machines: import, adopt, readmit, revoke, join, join-command.
import { errorTable } from '#lib/error-table.ts'

export const machinesErrors = errorTable({
  KN1360: {
    text: 'cannot print the join command of {name}: {why}',
    next: 'see kubenode why for this machine',
  },
  KN1002_noNodes: {
    text: 'cannot import: no Nodes are named',
    next: 'name them, or give --selector, --all, or --provider with --tag',
  },
  KN1002_output: {
    text: 'cannot print {output}',
    next: 'use yaml or ts',
  },
  KN1002_readmit: {
    text: 'cannot readmit machines: {why}',
    next: 'see kubenode machine readmit --help',
  },
  KN1002_revoke: {
    text: 'cannot revoke keys: {why}',
    next: 'see kubenode machine revoke --help',
  },
  KN1360_server: {
    text: 'cannot print the join command of {name}: {why}',
    next: 'hosts that have the files of kubenode agent bundle need neither: --offline',
  },
  KN1002_hostLine: {
    text: 'cannot print a line for hosts: {why}',
    next: 'correct the option',
  },
  KN1367_file: {
    text: 'cannot read the join script {file}: {why}',
    next: 'give --join-script the join.sh that kubenode agent bundle made',
  },
  KN1002_byTag: {
    text: 'cannot choose Nodes by the tag of their hosts: {why}',
    next: 'give --provider NAME, --tag KEY=VALUE and --providers FILE, together and without other Nodes',
  },
  KN1002_noHosts: {
    text: 'cannot join: no hosts are named',
    next: 'name a file of hosts with --ssh; the line for one host: kubenode machine join-command NAME',
  },
  KN1002_hosts: {
    text: 'cannot read {file}: {why}',
    next: 'name a file, or - for standard input',
  },
  KN1387: {
    text: 'cannot join the hosts of {file}: {problems}, see above; nothing was created',
    next: 'correct the file, then run this command again',
  },
  KN1388: {
    text: 'cannot join hosts with Secret {name} in kubenode-system: {why}',
    next: 'create it with the key in ssh-privatekey, and label it kubenode.io/for-ssh=true; see docs/tasks/join-over-ssh.md',
  },
  KN1377: {
    text: 'cannot adopt {name}: {why}',
    next: 'then run this command again',
  },
})
