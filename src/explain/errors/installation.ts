// Installing, upgrading and the first repository.
import type { Advice } from './advice.ts'

export const installation = {
  KN1401: {
    cause: 'The Kubernetes of this cluster is too old.',
    check: 'kubectl version',
    do: 'upgrade the control plane to 1.32 or newer first',
  },
  KN1403: {
    cause: 'The API server does not serve an API that the rights of KubeNode depend on.',
    check: '--runtime-config of kube-apiserver',
    do: 'remove the entry that turns it off',
  },
  KN1404: {
    cause: 'No certificate came from the signer of the cluster.',
    check: 'kubectl get csr, and the flags of kube-controller-manager',
    do: 'let it sign (--cluster-signing-cert-file, --cluster-signing-key-file), or install with agents.identity: serviceAccount',
  },
  KN1405: {
    cause: 'A definition with the name of one of KubeNode belongs to others.',
    check: 'kubectl get crd NAME -o yaml',
    do: 'use another cluster, or delete the definition with all of its objects',
  },
  KN1406: {
    cause: 'The cluster is too many releases behind this program.',
    check: 'the versions in the message',
    do: 'install the releases in between, one after the other',
  },
  KN1407: {
    cause: 'Too few nodes take ordinary pods.',
    check: 'kubectl describe nodes: taints, allocatable, pods',
    do: 'do what the message proposes: a toleration, a node selector or a node more',
  },
  KN1408: {
    cause: 'The clock of a machine is wrong.',
    check: 'timedatectl on the machine in the message',
    do: 'synchronize it: timedatectl set-ntp true',
  },
  KN1409: {
    cause: 'Agents run versions that this release does not work with.',
    check: 'kubenode get machines -o wide',
    do: 'bring them within two minor versions first',
  },
  KN1410: {
    cause: 'Another program repairs nodes of this cluster.',
    check: 'the programs in the message',
    do: 'switch their repairs off, or accept both with --ignore remediators',
  },
  KN1411: {
    cause: 'The namespace of KubeNode holds objects of others.',
    check: 'kubectl get all -n NAMESPACE',
    do: 'move them away: its accounts may not be shared',
  },
  KN1412: {
    cause: 'A volume that a program asks for is not provided.',
    check: 'kubectl describe pvc NAME',
    do: 'do what the message proposes, such as naming a storage class',
  },
  KN1413: {
    cause: 'A policy of the platform refuses or changes pods of KubeNode.',
    check: 'the webhook or policy in the message',
    do: 'exempt the namespace from it, or adapt the pods with --values',
  },
  KN1414: {
    cause: 'The image cannot be pulled.',
    check: 'kubectl describe pod, and the registry',
    do: 'correct --image or --registry, or add imagePullSecrets for a private registry',
  },
  KN1415: {
    cause: 'KubeNode runs twice in this cluster.',
    check: 'the namespace in the message',
    do: 'remove one installation: two would fight over the same objects',
  },
  KN1417: {
    cause: 'Checks before the installation failed.',
    check: 'the lines above the message, one for each check',
    do: 'correct these, then run the command again; nothing was changed',
  },
  KN1418: {
    cause: 'The installation waited and something is still not ready.',
    check: 'kubenode check',
    do: 'correct what it reports and run the command again: it continues where it ended',
  },
  KN1419: {
    cause: 'Another tool owns fields of an object of the installation.',
    check: 'the managers and fields in the message',
    do: 'change the fields in that tool, or remove the object from it',
  },
  KN1420: {
    cause: 'The API server refused an object of the installation.',
    check: 'its reason in the message',
    do: 'correct that, then run the command again; objects applied before stay',
  },
  KN1422: {
    cause: 'KubeNode is not installed in this cluster.',
    check: 'kubectl config current-context',
    do: 'run kubenode check --pre, then kubenode install',
  },
  KN1423: {
    cause: 'The name of the cluster was not confirmed.',
    check: 'the context that the command uses',
    do: 'run the command again and give the name, or --yes NAME without a terminal',
  },
  KN1425: {
    cause: 'Operations on nodes are still running.',
    check: 'kubenode get permits',
    do: 'wait until they finish, or end at once with --now',
  },
  KN1428: {
    cause: 'Another version is installed than that of this program.',
    check: 'kubenode version',
    do: 'change it with kubenode upgrade, or use the program of that version',
  },
  KN1429: {
    cause: 'The state of the installation cannot be read.',
    check: 'the connection, and kubectl auth can-i get on the object',
    do: 'fix what is missing, then run the command again',
  },
  KN1430: {
    cause: 'No process leads for a role.',
    check: 'the logs of that role: kubectl logs deployment/kubenode-ROLE, or logs/programs.log of a local fleet',
    do: 'correct what its log names, or start the role',
  },
  KN1431: {
    cause: 'The API server does not reach the webhook of the Defender.',
    check: 'NetworkPolicies, the Service, and the log of the Defender',
    do: 'open the way from the API server to it, or start the Defender',
  },
  KN1432: {
    cause: 'Pods of KubeNode are not ready, or their containers keep ending.',
    check: 'kubectl describe pods in its namespace, and kubectl logs',
    do: 'correct what their events or logs name, then run the command again',
  },
  KN1433: {
    cause: 'The settings of the installation cannot be used.',
    check: 'docs/operations/install/settings.md, which lists all settings',
    do: 'correct --values or the options',
  },
  KN1435: {
    cause: 'This check protects objects of others and cannot be ignored.',
    check: 'kubenode check --pre',
    do: 'correct what it reports',
  },
  KN1436: {
    cause: 'NetworkPolicies have no effect in this cluster.',
    check: 'the network plugin in the message',
    do: 'add a plugin that enforces them, or accept that every pod reaches the ports of KubeNode',
  },
  KN1437: {
    cause: 'The API server accepts no bootstrap tokens, with which hosts join.',
    check: '--enable-bootstrap-token-auth of kube-apiserver',
    do: 'turn it on, or use service accounts for agents: agents.identity: serviceAccount',
  },
  KN1438: {
    cause: 'A field that never changes differs from what this version needs.',
    check: 'the fields in the message',
    do: 'delete the object with the command given, then run this one again',
  },
  KN1439: {
    cause: 'A webhook is registered that these settings no longer have.',
    check: 'kubectl get validatingwebhookconfigurations',
    do: 'run kubenode install, which removes it',
  },
  KN1442: {
    cause: 'The namespace is still being deleted.',
    check: 'kubectl get namespace NAME -o yaml, which names what holds it',
    do: 'wait until it no longer exists, then run the command again',
  },
  KN1443: {
    cause: 'NetworkPolicies do not let programs reach the port of the API server.',
    check: 'kubectl get endpoints kubernetes',
    do: 'list its addresses and port as networkPolicies.apiServers in --values',
  },
  KN1444: {
    cause: 'An object of the installation was changed by others.',
    check: 'kubenode install --diff, and who may change it (docs/operations/security.md)',
    do: 'do what the message proposes: install again, or keep the change in --values',
  },
  KN1445: {
    cause: 'One volume cannot be mounted by all of these pods.',
    check: 'the access mode of the claim',
    do: 'use a claim with ReadOnlyMany or ReadWriteMany, or --replicas 1',
  },
  KN1446: {
    cause: 'Parts of a process did not end in time after one of them failed.',
    check: 'the first failure in its log',
    do: 'find the cause of that failure; its supervisor starts the process again',
  },
  KN1448: {
    cause: 'The settings give the cluster another name than it is installed with.',
    check: 'the context and cluster in the settings',
    do: 'name the right context, or rename it on purpose with --rename',
  },
  KN1449: {
    cause: 'The command, or an installation before it, was interrupted before it was done.',
    check: 'whether another run or a restart came in between',
    do: 'run the command in the message again: it continues',
  },
  KN1451: {
    cause: 'Objects name a provider that the controllers do not serve.',
    check: 'kubenode get machines, and the providers file of the controllers',
    do: 'correct the name in git, or configure the provider (docs/operations/providers.md)',
  },
  KN1452: {
    cause: 'The new settings would remove many objects of the installation.',
    check: 'kubenode install --diff',
    do: 'correct --values or --roles; if the removal is meant, --ignore removals',
  },
  KN1453: {
    cause: 'The settings drop a flavor of which control planes of Clusters run on this hub.',
    check: 'kubenode get clusters -o wide',
    do: 'keep the setting, or delete these Clusters first; see docs/operations/control-planes.md',
  },
  KN1454: {
    cause: 'The settings drop a version of Kubernetes that control planes of this hub run.',
    check: 'kubenode get clusters -o wide, and controlPlanes.kubernetes.versions in the settings',
    do: 'put the row back, upgrade these Clusters, then take it out',
  },
  KN1462: {
    cause: 'The file with versions of control planes has mistakes.',
    check: 'the rows named, and the example in docs/operations/control-planes.md',
    do: 'correct these rows',
  },
  KN1501: {
    cause: 'The target of a new repository has files already.',
    check: 'ls of the folder',
    do: 'name another folder, or add what is missing with --force',
  },
  KN1502: {
    cause: 'The private key would be written into the repository and committed.',
    check: 'the path given with --key',
    do: 'name a file outside of the repository',
  },
  KN1520: {
    cause: 'The address of a repository cannot be used.',
    check: 'the address in the message: its scheme and host',
    do: 'write it like https://git.example.org/fleet.git or ssh://git@git.example.org/fleet.git',
  },
  KN1522: {
    cause: 'No cluster would accept objects of the first commit.',
    check: 'kubenode lint and kubenode plan on the commit',
    do: 'correct the fleet, commit and push',
  },
  KN1523: {
    cause: 'The new trust document is not signed by keys that hosts trust today.',
    check: 'kubenode artifact keys list',
    do: 'sign it with the old keys: kubenode artifact keys rotate',
  },
  KN1524: {
    cause:
      'A source declares everything that sync may, or sources share a cluster and do not list what each one writes.',
    check: 'kubenode get sources, and spec.writes of each',
    do: 'list in spec.writes what each may write, or delete or change the other one; let only the platform team commit to one without it',
  },
} as const satisfies Advice
