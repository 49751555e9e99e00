// The local fleet.
import type { Advice } from './advice.ts'

export const localFleet = {
  KN1201: {
    cause: 'Another local fleet runs in this folder.',
    check: 'kubenode local status',
    do: 'press Ctrl-C where it runs, or choose another folder with --data',
  },
  KN1202: {
    cause: 'The folder of the local fleet was made for something else: another version, place, driver or repository.',
    check: 'fleet.json in the folder',
    do: 'start over with --reset, which deletes its clusters and demo commits, or use another --data',
  },
  KN1203: {
    cause: 'The folder holds data that KubeNode did not make.',
    check: 'ls of the folder',
    do: 'choose an empty folder; this one was not changed',
  },
  KN1205: {
    cause: 'The folder of the local fleet cannot be written.',
    check: 'df and ls -ld of the folder',
    do: 'make room there or fix its permissions, or choose another with --data',
  },
  KN1206: {
    cause: 'The program cannot listen: the port or socket is taken, or the address is not one of this machine.',
    check: 'ss -ltnp for the port, ss -lxp for a socket',
    do: 'stop the program that listens there, or choose another port, address or place',
  },
  KN1208: {
    cause: 'A program that the work needs is not on the PATH.',
    check: 'which PROGRAM, as the user of the command',
    do: 'install the program in the message, such as git, openssh-client or xz; git is not needed for https addresses',
  },
  KN1209: {
    cause: 'The folder is no git repository, or has no commit yet.',
    check: 'git log in the folder',
    do: 'run git init, git add -A and git commit there',
  },
  KN1211: {
    cause: 'The API server of the local fleet did not do what its start needs.',
    check: 'the log of the API server in the folder of the fleet',
    do: 'start the fleet again; with --reset if the log names damaged data',
  },
  KN1215: {
    cause: 'No local fleet runs around this folder.',
    check: 'kubenode local status in the folder of the fleet',
    do: 'start one with kubenode local up, or name its folder with --data',
  },
  KN1222: {
    cause: 'The repository of a running local fleet was moved or deleted.',
    check: 'the path in the message',
    do: 'move it back and start the fleet again, or start another with a new --data',
  },
  KN1224: {
    cause: 'The driver that makes the machines of the local fleet does not work on this host.',
    check: 'docs/operations/machines.md, which lists what each driver needs',
    do: 'leave --driver out: then nodes are processes of this user',
  },
  KN1226: {
    cause: 'apt does not know the version of the Debian package.',
    check: 'apt-cache madison NAME',
    do: 'run apt-get update on Debian 12, then try again',
  },
  KN1231: {
    cause: 'There is no fleet to start here.',
    check: 'fleet/main.ts in this folder and those above',
    do: 'make one with kubenode init my-fleet and start it in its folder',
  },
  KN1233: {
    cause:
      'There is no Prometheus on this host, it ended, its port is taken, the file of --rules does not exist, or the fleet beside which it runs does not run.',
    check: 'prometheus --version; logs/prometheus.log in the data folder of the fleet',
    do: 'install it (apt install prometheus), free its port or name another one, start the fleet',
  },
  KN1234: {
    cause: 'The node cannot have this fault, or the fleet, the node or the process that should have it is not there.',
    check: 'kubenode local status; kubenode get nodes',
    do: 'start the fleet, and name one of its nodes',
  },
  KN1232: {
    cause: 'The commit lacks the file with the keys that nodes trust.',
    check: 'git show --stat of the commit',
    do: 'commit the trust document that kubenode init made',
  },
} as const satisfies Advice
