// The agent on a node, and joining.
import type { Advice } from './advice.ts'

export const agent = {
  KN8001: {
    cause: 'Two agents would run on one folder.',
    check: 'systemctl status kubenode-agent',
    do: 'stop the running agent first',
  },
  KN8003: {
    cause:
      'The line with which the host joins is damaged or no longer valid, or the agent that it installed did not start.',
    check: 'when it was printed',
    do: 'print a new one with kubenode machine join-command NAME, and run it on the host',
  },
  KN8004: {
    cause: 'The host has an older kernel, systemd or C library than the agent needs.',
    check: 'uname -r and systemctl --version',
    do: 'upgrade the host first',
  },
  KN8005: {
    cause: 'The host, or a copy of its disk, belongs to another machine already.',
    check: 'the identities in the message',
    do: 'hand the host back with kubenode agent leave, then join it; never remove its folder',
  },
  KN8006: {
    cause: 'The request for a certificate was refused.',
    check: 'kubectl get csr NAME -o yaml, and the Machine',
    do: 'correct the Machine; a token works once',
  },
  KN8007: {
    cause: 'The signer of the cluster signed something else than requested.',
    check: 'the signer in the CertificateSigningRequest',
    do: 'correct the signer',
  },
  KN8008: {
    cause: 'The agent has no identity that could be renewed.',
    check: 'kubenode why machine/NAME',
    do: 'run kubenode machine readmit NAME --token, then the line of kubenode machine join-command NAME on the host',
  },
  KN8010: {
    cause: 'An artifact cannot be fetched.',
    check: 'the address in the message, from the host: curl -I',
    do: 'nothing at first: retried automatically; correct network, address or server if it continues',
  },
  KN8011: {
    cause: 'The artifact is outside of the addresses that this agent may use.',
    check: 'artifactBase and allowedOrigins of the agent',
    do: 'add the origin to its allowed origins',
  },
  KN8012: {
    cause: 'The artifact is not the one that was signed.',
    check: 'the digests in the message',
    do: 'upload the artifact that was signed',
  },
  KN8013: {
    cause: 'The version cannot be installed as it is declared.',
    check: 'the reason in the message: signature, trust or content',
    do: 'correct the component in the fleet',
  },
  KN8014: {
    cause: 'The MachineComponent is not in the cluster.',
    check: 'kubectl get machinecomponents',
    do: 'commit it to the fleet; retried automatically',
  },
  KN8015: {
    cause: 'The MachineComponent of that name is for another component or version.',
    check: 'its spec.component and spec.version',
    do: 'correct its spec or its name',
  },
  KN8016: {
    cause: 'Agents do not install this type of component.',
    check: 'spec.type of the MachineComponent',
    do: 'use type Package, Script or OS',
  },
  KN8017: {
    cause: 'A stored configuration was changed, though it never changes.',
    check: 'who wrote the ComponentConfig',
    do: 'commit the configuration again, which makes a new object',
  },
  KN8018: {
    cause: 'The component has no artifact for this processor or system.',
    check: 'uname -sm on the host',
    do: 'publish an artifact for this platform',
  },
  KN8019: {
    cause: 'The host lacks what the version requires.',
    check: 'spec.requires of the component, and the host',
    do: 'give the host what it lacks, or use a version that fits',
  },
  KN8020: {
    cause: 'The archive of a component does not unpack.',
    check: 'tar -tvf of the archive',
    do: 'build it again with kubenode artifact pack',
  },
  KN8021: {
    cause: 'A path, value or text of the component cannot be used on a node.',
    check: 'the path or value in the message',
    do: 'use absolute paths without .. and without control characters in the component, and add the missing value in fleet/',
  },
  KN8023: {
    cause: 'Something on the host is in the way, and KubeNode does not replace what it does not manage.',
    check: 'ls -l of the path, and what installed it',
    do: 'adopt a file with kubenode adopt, which keeps the original; move a folder or device away, or use another path in the component',
  },
  KN8024: {
    cause: 'A secret value is not available on the node.',
    check: 'the sealed value of the ComponentConfig',
    do: 'seal it again for this machine; retried automatically',
  },
  KN8025: {
    cause: 'The node has no key that opens secret values.',
    check: 'the state folder of the agent',
    do: 'join the machine again, which creates one',
  },
  KN8026: {
    cause: 'The ComponentConfig is not in the cluster.',
    check: 'kubectl get componentconfigs',
    do: 'commit the configuration; the agent tries again by itself',
  },
  KN8030: {
    cause: 'The process of a component did not start.',
    check: 'its log at the path in the message',
    do: 'correct its program, arguments or configuration in the fleet',
  },
  KN8031: {
    cause: 'A process does not end, even by SIGKILL.',
    check: 'cat /proc/PID/stack on the node',
    do: 'nothing at first: it is tried again; then repair what the kernel waits for, or reboot the node',
  },
  KN8032: {
    cause: 'The node does not run systemd, or its systemd lacks the unit that the component names.',
    check: 'ps 1 and systemctl cat UNIT on the node',
    do: 'set service.exec, ship the unit with the component, or use a host with systemd',
  },
  KN8033: {
    cause: 'A hook of the component failed.',
    check: 'its output in the message',
    do: 'correct the hook and publish a new version',
  },
  KN8034: {
    cause: 'The user of the component does not exist on the node.',
    check: 'getent passwd NAME',
    do: 'create it in the preInstall hook',
  },
  KN8035: {
    cause: 'The agent is not root and cannot start the component as another user.',
    check: "id of the agent's process",
    do: 'run the agent as root, or drop service.user',
  },
  KN8037: {
    cause: 'A step on the node failed for now.',
    check: 'the journal of the agent, if it repeats',
    do: 'nothing: the agent does it again by itself',
  },
  KN8039: {
    cause: 'Two components use one unit.',
    check: 'service.unit of both',
    do: 'give one of them another unit name, or remove the other component first',
  },
  KN8045: {
    cause: 'The original of a file is lost or damaged on the node.',
    check: 'the kept originals in the folder of the agent',
    do: 'reinstall the component, or restore the file from the package of the host',
  },
  KN8051: {
    cause: 'A new version of the agent did not work, and the old one runs again.',
    check: 'the reason in the message, and journalctl -u kubenode-agent',
    do: 'commit another version of the agent',
  },
  KN8053: {
    cause: 'The command needs root.',
    check: 'id',
    do: 'run it with sudo',
  },
  KN8055: {
    cause: 'An administrator masked the unit.',
    check: 'systemctl status UNIT',
    do: 'run systemctl unmask UNIT on the node to allow it',
  },
  KN8061: {
    cause: 'The certificate of the machine ended, and its agent proved its key.',
    check: 'kubenode why machine/NAME',
    do: 'run kubenode machine readmit NAME; nothing is needed on the host',
  },
  KN8073: {
    cause: 'The agent is still handing its host back.',
    check: 'journalctl -u kubenode-agent',
    do: 'wait: it continues by itself',
  },
  KN8082: {
    cause: 'The host cannot download from the address of the artifacts.',
    check: 'curl -v of the address on the host; HTTPS_PROXY and NO_PROXY',
    do: 'open the way, or print the line with --offline',
  },
  KN8083: {
    cause: 'Another certificate answers at the address of the artifacts.',
    check: 'openssl s_client from the host',
    do: 'print the line again; correct artifacts.address or the proxy that opens connections',
  },
  KN8084: {
    cause: 'The served files and the printed line come from different bundles.',
    check: 'sha256sum of the served files',
    do: 'serve all files of one kubenode agent bundle, and print the line again',
  },
  KN8085: {
    cause: 'The host lacks a basic program.',
    check: 'the name in the message',
    do: 'install or copy it, then run the line again',
  },
  KN8087: {
    cause: 'A folder or file of the host cannot be written or locked.',
    check: 'df, mount and ls -ld of the path: read-only systems are common',
    do: 'make room or make it writable; choose another place with --prefix, TMPDIR or another path in the component',
  },
  KN8088: {
    cause: 'The agent runs, and its machine does not accept it yet.',
    check: 'journalctl -u kubenode-agent, and kubenode why machine/NAME',
    do: 'correct what they report; the agent continues by itself',
  },
  KN8092: {
    cause: 'The component runs no process, so it has no log.',
    check: 'kubenode describe machine/NAME',
    do: 'read its state there',
  },
  KN8096: {
    cause: 'A file of a host that is managed over SSH cannot be read or written.',
    check: 'df, mount and ls -ld of the path on the host',
    do: 'make room or make it writable; it is tried again',
  },
  KN8097: {
    cause: 'The packages of a kernel cannot be installed beside the running one.',
    check: 'the message, and dpkg --audit or dnf check on the host',
    do: 'add what is missing to the archive, or to the host; retried automatically',
  },
  KN8098: {
    cause: 'The new kernel did not come up or did not stay, and the boot loader booted the one before.',
    check: 'the console of the machine, or journalctl --list-boots on the host',
    do: 'publish another version; nothing needs to be done on the machine',
  },
  KN8099: {
    cause: 'The boot loader of the host could not be changed.',
    check: 'the boot loader of the host, as docs/tasks/kernel.md describes',
    do: 'give it what is missing; the default is what boots',
  },
} as const satisfies Advice
