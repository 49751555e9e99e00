// The command line and its input.
import type { Advice } from './advice.ts'

export const commandLine = {
  KN1000: {
    cause: 'KubeNode reached a state that its own code rules out: a bug.',
    check: 'the lines below the message: the stack, the command and the version',
    do: 'report it with these lines; the same command will fail the same way',
  },
  KN1001: {
    cause: 'The program was started with a Node.js older than 26.',
    check: 'node --version, and which node comes first on the PATH',
    do: 'run npm ci in the checkout, which installs the right one, or install Node 26',
  },
  KN1002: {
    cause:
      'An argument, an option or typed input has a value that the command does not take, is missing, or does not fit to another one.',
    check: 'what the message names, and kubenode COMMAND --help',
    do: 'correct it and run the command again; nothing was changed',
  },
  KN1004: {
    cause: 'An environment variable has a value that cannot be used.',
    check: 'env, and the unit or pod that sets the variable',
    do: 'correct the variable, or unset it to get the default',
  },
  KN1005: {
    cause: 'The output could not be written: the disk behind it is full, or its reader ended.',
    check: 'the file or program that standard output leads to',
    do: 'make room there and run the command again',
  },
  KN1006: {
    cause: 'Node.js does not start on this host: a library that it is linked with is missing.',
    check: 'the name of the library in the message',
    do: 'install it: apt-get install libatomic1 (Debian, Ubuntu) or dnf install libatomic (RHEL, Fedora)',
  },
  KN1011: {
    cause: 'A file or folder does not exist, or this user cannot read it.',
    check: 'ls -l of the path in the message',
    do: 'name one that exists and that you can read; copy the contents where it is a device or a pipe',
  },
  KN1012: {
    cause: 'There are more files, or a larger file, than the command reads.',
    check: 'the limit in the message',
    do: 'name a smaller folder, or split the file',
  },
  KN1014: {
    cause: 'The content of a file does not parse.',
    check: 'the line and column in the message',
    do: 'correct the syntax there, and save the file as UTF-8',
  },
  KN1020: {
    cause: 'A manifest lacks what every object has: a map with apiVersion, a kind that exists, and a metadata.name.',
    check: 'the place in the message',
    do: 'add or correct the field that the message names',
  },
  KN1024: {
    cause: 'A file is no trust document, or is damaged.',
    check: 'the first lines of the file: it must have the signatures and the keys of a trust document',
    do: 'make one with kubenode artifact keys trust',
  },
  KN1026: {
    cause: 'A file of an earlier layout is still in the fleet, and nothing reads it.',
    check: 'what replaced it, named in the message',
    do: 'write its content into the file that replaced it, then git rm the old one',
  },
  KN1030: {
    cause: 'A pattern uses what RE2 does not know, such as a look-behind or a back-reference.',
    check: 'the reason in the message',
    do: 'write the pattern in RE2 syntax',
  },
  KN1040: {
    cause: 'Another user could replace or read the files that KubeNode would trust.',
    check: 'ls -ld of the path and of each folder above it',
    do: 'give it to the user that runs KubeNode with mode 0700, or use another folder',
  },
  KN1044: {
    cause: 'As many requests wait already as are allowed to.',
    check: 'what the program is busy with: its log and its metrics',
    do: 'wait: retried automatically; send fewer requests at once if it continues',
  },
  KN1050: {
    cause: 'The packages of the checkout are missing, or are not those of package-lock.json.',
    check: 'git status, and node_modules',
    do: 'run npm ci in the checkout, without --omit=dev',
  },
  KN1051: {
    cause: 'There is no Node.js for the processor of these hosts to make an agent with.',
    check: 'uname -m on the host',
    do: 'run kubenode agent bundle --node FILE with a Node.js for these hosts',
  },
  KN1090: {
    cause: 'A name given to the host of control planes has the wrong form.',
    check: 'the name in the message',
    do: 'ask for a plane as NAMESPACE.NAME; name a snapshot in lowercase letters, digits, dots and dashes',
  },
  KN1091: {
    cause: 'The folder of a control plane has lost the record that tells what it is.',
    check: 'the folder in the message, and its backups',
    do: 'restore the file from a backup, or move the folder away and let the Cluster be made again',
  },
  KN1093: {
    cause: 'The host of control planes does not answer at its socket.',
    check: 'whether kubenode apiserver runs there with --control-planes and --control-socket',
    do: 'start it, or correct the path of the socket',
  },
  KN1097: {
    cause: 'The programs of Kubernetes for control planes are missing or of different versions.',
    check: 'the folder in the message: it needs etcd, kube-apiserver and kube-controller-manager',
    do: 'put the three programs of one Kubernetes version there, or name another folder',
  },
  KN1301: {
    cause: 'The kubeconfig, or a file that it names, cannot be read.',
    check: 'ls -l of the path, and the environment variable KUBECONFIG',
    do: 'correct the path, or give another with --kubeconfig FILE',
  },
  KN1302: {
    cause: 'The kubeconfig names no certificate authority, so hosts could not tell the server from another one.',
    check: 'kubectl config view',
    do: 'add certificate-authority-data to its cluster',
  },
  KN1307: {
    cause: 'The identity of a role lacks rights that the role needs.',
    check: 'deploy/install/2-rbac.yaml, and kubectl auth can-i --list as that identity',
    do: 'give the role the kubeconfig of its own identity, or bind this user to the roles of that name',
  },
  KN1310: {
    cause: 'KubeNode has no kind with this name.',
    check: 'kubenode get, which lists its kinds',
    do: 'use the suggested name; for kinds of others use kubectl',
  },
  KN1312: {
    cause: 'Neither an option, the environment nor the current folder names a cluster.',
    check: 'echo $KUBECONFIG, kubectl config get-contexts',
    do: 'name one with --kubeconfig FILE; in the folder of a fleet, kubenode local up starts one that is found there',
  },
  KN1313: {
    cause: 'There is no object, or no component of the machine, with this name here.',
    check: 'kubenode get KIND, and whether this is the right cluster or namespace',
    do: 'correct the name, or choose the cluster that has it',
  },
  KN1314: {
    cause: 'What answered is not the API of Kubernetes, or answered an error without a reason.',
    check: 'the address in the kubeconfig; a proxy or login page answers HTML',
    do: 'correct the address, and check your permissions there',
  },
  KN1315: {
    cause: 'The cluster does not have this kind.',
    check: 'kubectl api-resources',
    do: 'install its CustomResourceDefinition first, or use another cluster',
  },
  KN1320: {
    cause: 'Several roles would run with one identity, and a thief of it would have the powers of all.',
    check: 'the kubeconfigs given to the process',
    do: 'give each role its own --kubeconfig ROLE=FILE, or accept it with --shared-identity',
  },
  KN1321: {
    cause: 'The kubeconfigs of a process do not fit to its roles.',
    check: '--roles and each --kubeconfig ROLE=FILE',
    do: 'give exactly one kubeconfig for each role that runs here',
  },
  KN1325: {
    cause: 'The command does not work on this kind of object, or the name has the wrong form or fits several objects.',
    check: 'the forms and names in the message',
    do: 'name it in one of these forms, such as machine/NAME',
  },
  KN1329: {
    cause: 'A certificate, its key or an authority in a file cannot be used.',
    check: 'openssl x509 -in FILE -text, and the key beside it',
    do: 'name PEM files that belong together',
  },
  KN1335: {
    cause: 'The API server did not identify you, so no approval can be recorded.',
    check: 'kubectl auth whoami',
    do: 'log in first',
  },
  KN1338: {
    cause: 'Nothing in this cluster is affected by the command as given.',
    check: 'kubenode why-not node/NAME, and whether this is the right cluster',
    do: 'point --kubeconfig at the right cluster, or add --even-if-absent',
  },
  KN1341: {
    cause: 'A folder holds no usable rules: each needs a file that exports rule and cases.',
    check: 'the rules in rules/ of KubeNode as examples',
    do: 'write the file that is missing, or export both',
  },
  KN1342: {
    cause: 'A condition of --fail-on is not written as one, or names a figure that does not exist.',
    check: 'the name in the message, and the figures that it lists',
    do: 'write figures and numbers with > < >= <= == !=, joined by and, or, not',
  },
  KN1343: {
    cause:
      'The rules of the base do not reproduce the repairs that the history recorded, or no node was recorded, so a comparison proves nothing.',
    check: 'the calibration in the output: which repairs are missing or invented',
    do: 'compare with the rules that were in force: leave --base out, or shorten --since',
  },
  KN1344: {
    cause: 'The history and the fleet name their clusters differently, or the history has several.',
    check: 'the names in the message',
    do: 'name them with --cluster and --fleet-cluster',
  },
  KN1346: {
    cause:
      'The file of --rules or --base-rules has no rule or policy, a wrong one, or two of one name; or the commit to judge has a wrong one.',
    check: 'the object in the message',
    do: 'correct it; kubenode lint FILE shows all problems',
  },
  KN1347: {
    cause:
      'A scenario cannot be loaded or has a mistake, there is none, or the inventory or, without one, the fleet has no machine.',
    check: 'the file and the reason in the message',
    do: 'correct it as in docs/operations/simulate.md, name a built-in scenario with --what-if, or machines with --machines',
  },
  KN1345: {
    cause: 'The file for a simulation lacks a Node, or an object in it is incomplete.',
    check: 'the kind and name in the message',
    do: 'write it again with kubectl get KIND NAME -o yaml',
  },
  KN1348: {
    cause: 'A label or field selector cannot be parsed.',
    check: 'the part of it in the message',
    do: 'write labels like pool=gpu,zone in (a,b),!spare and fields like metadata.name=m-1',
  },
  KN1349: {
    cause: 'Nothing asks for an approval of this digest.',
    check: 'kubenode get releases, and kubenode release status NAME',
    do: 'read what the release deletes, and approve the digest that it names',
  },
  KN1358: {
    cause: 'A credential of the kubeconfig has expired.',
    check: 'the time in the message',
    do: 'get a new kubeconfig from where this one came from',
  },
  KN1360: {
    cause: 'The line for joining a host cannot be printed.',
    check: 'kubenode why machine/NAME',
    do: 'correct what it reports; hosts with the files of kubenode agent bundle join with --offline',
  },
  KN1367: {
    cause: 'The digest of the join script is missing or wrong.',
    check: 'sha256sum of join.sh, and what kubenode agent bundle printed',
    do: 'give --join-script the digest or the join.sh of that run',
  },
  KN1372: {
    cause: 'The revision is not kept.',
    check: 'kubenode rollout history NAME',
    do: 'name one of those listed, or commit the version again',
  },
  KN1373: {
    cause: 'The canary was promoted: a set declares its versions now.',
    check: 'the set in the message',
    do: 'remove the canary from the fleet',
  },
  KN1374: {
    cause: 'The object is in a phase in which this command changes nothing.',
    check: 'kubenode why KIND/NAME',
    do: 'run the command for the phase that it is in, which the message names',
  },
  KN1375: {
    cause: 'No set declares another version of the components of the canary.',
    check: 'the sets of the fleet',
    do: 'add the components to a set with a commit',
  },
  KN1377: {
    cause: 'Files of this machine cannot be adopted yet.',
    check: 'kubenode why machine/NAME',
    do: 'correct what the message names, then run the command again',
  },
  KN1381: {
    cause: 'The machine has no Node yet, and rules read conditions of Nodes.',
    check: 'kubenode why machine/NAME',
    do: 'wait until it has joined; the answer names what it waits for',
  },
  KN1384: {
    cause: 'No single line of the fleet does what the command would write.',
    check: 'where the fleet declares the object: kubenode trace KIND/NAME',
    do: 'edit the fleet by hand and read the effect with kubenode plan --dirty',
  },
  KN1385: {
    cause: 'Uncommitted changes are in the way.',
    check: 'git status in the clone',
    do: 'commit or stash them, then run the command again',
  },
  KN1386: {
    cause: 'The branch for a preview could not be pushed or deleted, or its earlier preview is still there.',
    check: 'git ls-remote --heads origin, and whether this clone may push',
    do: 'name a branch that the remote does not have, such as preview/ci-4711, and run the command in a clone that may push it',
  },
  KN1387: {
    cause: 'Rows of a file of hosts are wrong, or contradict Machines that exist.',
    check: 'the lines that the command printed',
    do: 'correct the rows; kubenode join --ssh FILE --dry-run shows the result without creating anything',
  },
  KN1388: {
    cause: 'The Secret with the SSH key cannot be used for joining hosts.',
    check: 'kubectl -n kubenode-system get secret NAME --show-labels',
    do: 'create it in kubenode-system and label it kubenode.io/for-ssh=true',
  },
  KN1393: {
    cause: 'The cluster keeps no copy of the version in git.',
    check: 'kubenode trace KIND/NAME',
    do: 'apply it from the repository, or wait for sync',
  },
  KN1395: {
    cause: 'The object was edited again meanwhile.',
    check: 'kubenode trace KIND/NAME, which shows who wrote it',
    do: 'check the newer edit, then run the command with its digest',
  },
  KN1642: {
    cause: 'The agent of the machine does not answer for its logs.',
    check: 'kubenode why machine/NAME',
    do: 'correct what it reports; on the host the log is in the journal of the unit',
  },
  KN1644: {
    cause: 'The controllers did not pass a request for logs on.',
    check: 'kubenode check, and kubenode get logrequests',
    do: 'start the controllers, or wait until other requests are answered',
  },
  KN1661: {
    cause: 'The inventory file cannot be used.',
    check: 'when and with which version it was made',
    do: 'export it again with kubenode inventory export',
  },
  KN1664: {
    cause: 'There is no such branch, tag or commit in the repository.',
    check: 'git branch -a and git log',
    do: 'name one that they show; a branch of the remote is origin/NAME',
  },
  KN1666: {
    cause: 'The clone is shallow: the history that is needed is not in it.',
    check: 'git rev-parse --is-shallow-repository',
    do: 'run git fetch --unshallow, or use a full clone',
  },
  KN1684: {
    cause: 'The place has more machines than one maintenance covers.',
    check: 'kubenode get machines -l of the place',
    do: 'plan smaller places',
  },
  KN1685: {
    cause: 'This maintenance cannot be cancelled or ended in this way.',
    check: 'kubenode why maintenanceevent/NAME',
    do: 'end work that has begun with kubenode maintenance done; what a cloud announced ends by itself',
  },
  KN1690: {
    cause: 'The cluster has no time to live that could be extended, or is being deleted.',
    check: 'kubenode cluster show NAME',
    do: 'commit spec.ttl to give it one; once it is deleted, declare it again',
  },
  KN1693: {
    cause: 'A policy limits how long a cluster may live.',
    check: 'spec.clusters.maxTtl of the policy in the message',
    do: 'extend within the limit, or change the limit with a commit',
  },
  KN1704: {
    cause: 'No provider of this name is known here.',
    check: 'the names listed in the message',
    do: 'use one of them, or add yours to the providers file',
  },
  KN1722: {
    cause:
      'The files of the fleet cannot be edited for this: Nodes that become Machines, or machines that are protected.',
    check: 'the reason in the message',
    do: 'print Machines with kubenode import -o yaml and declare them by hand; edit spec.protect of a DefenderPolicy by hand',
  },
  KN1723: {
    cause: 'Some Nodes cannot be imported, or a machine does not exist.',
    check: 'the first of them in the message',
    do: 'leave them out',
  },
  KN1724: {
    cause: 'The clone of the console lacks the branch that a source follows.',
    check: 'git branch -a in the clone',
    do: 'fetch it, or start the console with the repository of this source',
  },
  KN1725: {
    cause: 'A prepared commit is no longer valid: it is unknown, or the branch has newer commits.',
    check: 'git log of the branch',
    do: 'prepare it again',
  },
  KN1726: {
    cause: 'The server does not take the commit on this branch.',
    check: 'its answer in the message, and the rules of the branch',
    do: 'push it to another branch, or apply the patch with git am in a clone',
  },
  KN1732: {
    cause: 'Too many nodes have this fault at once for repairs to be the answer.',
    check: 'what these nodes share, and the last changes: kubenode history',
    do: 'correct the shared cause; repairs begin by themselves once fewer nodes have the fault',
  },
  KN1734: {
    cause:
      'The recipe of an addon is not such that the hub would take it: its name, its version, its minors, or its manifests, where each image needs a digest.',
    check: 'what the message names',
    do: 'correct it; an image is replaced with --image OLD=NEW@sha256:…; docs/operations/control-planes.md has an example',
  },
  KN1733: {
    cause: 'No error has this number.',
    check: 'docs/reference/errors.md, and kubenode version',
    do: 'write the number as it was printed, such as KN1120; for objects use kubenode why KIND/NAME',
  },
} as const satisfies Advice
