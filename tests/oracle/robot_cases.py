"""MJCF's defaults and ways to say a thing, one by one, for robots.py: what MuJoCo's compiler makes of each our reader has to make of it too."""

BALL = '<geom name="g" size="0.1"/>'


def joint(attributes, before="", after=""):
    """An arm of two joints, the second one with these attributes."""
    return f"""<mujoco>{before}<worldbody><geom name="floor" type="plane" size="1 1 1" pos="0 0 -9"/>
<body name="a" pos="0 0 1"><joint name="a" axis="0 1 0"/><geom name="ga" type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/>
<body name="b" pos="0.5 0 0"><joint name="b" {attributes}/><geom name="gb" type="box" size="0.1 0.05 0.02" pos="0.1 0.02 0"/>
</body></body></worldbody>{after}</mujoco>"""


def body(content, before="", after="", of_body=""):
    """One body on a hinge with this in it."""
    return f"""<mujoco>{before}<worldbody><body name="a" pos="0.1 0.2 1" {of_body}><joint name="a" axis="1 2 3"/>{content}</body></worldbody>{after}</mujoco>"""


def geom(attributes, before=""):
    return body(f'<geom name="g" {attributes}/>', before)


def pair(floor="", x="", y="", after="", before=""):
    """A floor and two balls that overlap it and each other."""
    return f"""<mujoco>{before}<worldbody><geom name="f" type="plane" size="3 3 1" {floor}/>
<body name="x" pos="0 0 0.99"><freejoint/><geom name="x" size="1" {x}/></body>
<body name="y" pos="1.98 0 0.985"><freejoint/><geom name="y" size="1" {y}/></body></worldbody>{after}</mujoco>"""


def tree(fixed="", child_joint='<joint name="c" axis="0 1 0"/>', before="", after=""):
    """Bodies that overlap: parent, child, grandchild, something fixed in the child; and the world."""
    return f"""<mujoco>{before}<worldbody><geom name="w" type="plane" size="3 3 1"/><geom name="post" size="0.2" pos="0.1 0 0.1"/>
<body name="p" pos="0 0 0.15"><joint name="p"/><geom name="p" size="0.2"/>
<body name="c" pos="0.02 0.03 0">{child_joint}<geom name="c" size="0.2"/>{fixed}
<body name="d" pos="0.01 0 0.02"><joint name="d" axis="1 0 0"/><geom name="d" size="0.2"/></body></body></body></worldbody>{after}</mujoco>"""


def drive(actuator, before="", joints='range="-90 45"'):
    return joint(joints, before, f"""<tendon><fixed name="t"><joint joint="a" coef="0.5"/><joint joint="b" coef="-2"/></fixed></tendon>
<actuator>{actuator}</actuator>""")


RADIAN = '<compiler angle="radian"/>'
MESH = '<asset><mesh name="m" vertex="0 0 0 0.25 0 0 0 0.125 0 0 0 0.5 0.25 0.125 0.5" {0}/></asset>'
CLASSES = """<default><geom density="500" friction="0.5"/><joint damping="1"/>
<default class="x"><joint damping="2" armature="3"/><geom size="0.2" density="700"/><default class="y"><joint armature="4"/><geom friction="0.7"/></default></default>
<default class="z"><joint stiffness="2"/></default></default>"""

def rope(path, attributes="", after="", before="", joints='range="-90 45"'):
    """A tendon through space on the arm: sites of the world and of both bodies, a ball and a rod to go around, and points of their sides."""
    return f"""<mujoco>{before}<worldbody><site name="w" pos="-0.2 0.1 1.3"/><site name="low" pos="0.1 0.05 0.6"/>
<body name="a" pos="0 0 1"><joint name="a" axis="0.1 1 0.2"/><geom name="ga" type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/>
<geom name="ball" size="0.12" pos="0.2 0.02 0.05" contype="0" conaffinity="0"/><site name="up" pos="0.2 0 0.3"/><site name="down" pos="0.2 0 -0.3"/>
<site name="middle" pos="0.2 0.03 0.06"/>
<body name="b" pos="0.5 0 0"><joint name="b" axis="0 1 0" {joints}/><geom name="gb" type="box" size="0.1 0.05 0.02" pos="0.1 0.02 0"/>
<geom name="rod" type="cylinder" size="0.08 0.1" quat="1 1 0.1 0" pos="0.02 0 0" contype="0" conaffinity="0"/><site name="ring" pos="0.02 0.01 0.01"/>
<site name="over" pos="0 0 0.2"/><site name="tip" pos="0.3 0.05 0.02"/><site name="end" pos="0.35 -0.05 -0.1"/></body></body></worldbody>
<tendon><spatial name="t" {attributes}>{path}</spatial></tendon>{after}</mujoco>"""


def sites(*names):
    """A path by words: sites, `ball` and `rod` with a side after a colon, numbers are pulleys."""
    out = ""
    for name in names:
        geom, _, side = name.partition(":")
        if geom in ("ball", "rod"):
            out += f'<geom geom="{geom}"' + (f' sidesite="{side}"' if side else "") + "/>"
        elif geom[0].isdigit():
            out += f'<pulley divisor="{geom}"/>'
        else:
            out += f'<site site="{geom}"/>'
    return out


REPLICATE = '''<mujoco>{1}<worldbody><replicate count="3" offset="0.1 0.2 0.3" euler="10 20 30" {0}><body name="b" pos="1 2 3"><joint name="j"/>
<geom name="g" size="0.1" pos="0.1 0 0"/></body></replicate><body name="after"><joint name="last" axis="1 2 3"/><geom name="last" size="0.2" pos="1 2 3"/></body></worldbody></mujoco>'''

CASES = [
    # angles
    ("degrees", joint('range="-90 45" ref="10" springref="30" stiffness="2"')),
    ("radian", joint('range="-1 0.5" ref="0.1" springref="0.3" stiffness="2"', RADIAN)),
    ("degrees of a slide are metres", joint('type="slide" range="-90 45" ref="1" springref="30" stiffness="2"')),
    ("a compiler after what it is of", joint('range="-1 0.5"', "<option/>" + RADIAN)),
    ("two compilers", joint('range="-1 0.5"', RADIAN + '<compiler autolimits="true"/>')),
    # rotations
    ("euler", body(BALL, of_body='euler="20 30 40"')),
    ("euler in radian", body(BALL, RADIAN, of_body='euler="0.2 0.3 0.4"')),
    *[(f"eulerseq {seq}", body(BALL, f'<compiler eulerseq="{seq}"/>', of_body='euler="20 30 40"')) for seq in ("xyz", "XYZ", "zyx", "ZYX", "zxz", "xYz", "XyZ")],
    ("axisangle", body(BALL, of_body='axisangle="1 2 3 50"')),
    ("axisangle in radian", body(BALL, RADIAN, of_body='axisangle="1 2 3 0.5"')),
    ("xyaxes that are not orthogonal", body(BALL, of_body='xyaxes="1 1 0 0 1 1"')),
    ("zaxis", body(BALL, of_body='zaxis="1 2 3"')),
    ("zaxis down", body(BALL, of_body='zaxis="0 0 -1"')),
    ("quat that is not normalised", body(BALL, of_body='quat="1 2 3 4"')),
    ("an axis that is not normalised", joint('axis="0 3 4" type="slide"')),
    ("fromto of a capsule", geom('type="capsule" size="0.05" fromto="0.1 0 0 0.3 0.2 0.1"')),
    ("fromto of a cylinder", geom('type="cylinder" size="0.05" fromto="0.1 0 0 0.3 0.2 0.1"')),
    ("fromto of a box", geom('type="box" size="0.05" fromto="0.1 0 0 0.3 0.2 0.1"')),
    ("fromto of an ellipsoid", geom('type="ellipsoid" size="0.05" fromto="0.1 0 0 0.3 0.2 0.1"')),
    ("fromto down", geom('type="capsule" size="0.05" fromto="0 0 1 0 0 0"')),
    ("fromto up", geom('type="capsule" size="0.05" fromto="0 0 0 0 0 1"')),
    # limits
    ("autolimits", joint('range="-90 45"')),
    ("limited false", joint('range="-90 45" limited="false"')),
    ("limited auto", joint('range="-90 45" limited="auto"')),
    ("autolimits false, limited true", joint('range="-90 45" limited="true"', '<compiler autolimits="false"/>')),
    ("a range of a class", joint("", '<default><joint range="-90 45"/></default>')),
    ("limits disabled", joint('range="-90 45"', '<option><flag limit="disable"/></option>')),
    # joints
    ("a joint is a hinge about z", joint("")),
    ("a ball", joint('type="ball" damping="0.2" armature="0.1" frictionloss="0.3"')),
    ("a limit of a ball", joint('type="ball" range="0 40"')),
    ("a limit of a ball in radian", joint('type="ball" range="0 1.5"', RADIAN)),
    ("an anchor", joint('pos="0.1 0.2 0.3" axis="1 2 3"')),
    ("laws of a joint", joint('damping="1" armature="2" frictionloss="3" stiffness="4" springref="20"')),
    ("ref and springref", joint('ref="15" springref="-20" stiffness="1" pos="0.1 0 0"')),
    ("springref is 0, not ref", joint('ref="15" stiffness="1"')),
    ("ref of a slide", joint('type="slide" ref="0.3" springref="0.1" stiffness="1"')),
    ("ref of a ball is nothing", joint('type="ball" ref="15"')),
    ("two joints", body(BALL + '<joint name="a2" axis="0 1 0" pos="0.1 0 0" ref="20"/>')),
    ("three slides", body(BALL + '<joint name="a2" type="slide" axis="0 1 0"/><joint name="a3" type="slide" axis="1 0 0" ref="0.4"/>')),
    ("flags of laws", joint('damping="1" frictionloss="3" stiffness="4"', '<option><flag frictionloss="disable" spring="disable" damper="disable"/></option>')),
    ("springs disabled", joint('damping="1" stiffness="4"', '<option><flag spring="disable"/></option>')),
    ("springdamper", joint('springdamper="0.2 0.7" ref="20"')),
    ("springdamper of a slide", joint('type="slide" springdamper="0.1 1.5"')),
    # masses
    *[(f"a {kind} weighs 1000", geom(f'type="{kind}" size="{size}"')) for kind, size in
      (("sphere", "0.1"), ("capsule", "0.1 0.3"), ("cylinder", "0.1 0.3"), ("ellipsoid", "0.1 0.2 0.3"), ("box", "0.1 0.2 0.3"))],
    *[(f"the shell of a {kind}", geom(f'type="{kind}" size="{size}" shellinertia="true"')) for kind, size in
      (("sphere", "0.1"), ("capsule", "0.1 0.3"), ("cylinder", "0.1 0.3"), ("box", "0.1 0.2 0.3"))],
    ("density", geom('size="0.1" density="300"')),
    ("mass before density", geom('size="0.1" density="300" mass="2"')),
    ("mass of a class", geom('size="0.1"', '<default><geom mass="2"/></default>')),
    ("mass 0 beside another", body(BALL + '<geom name="h" size="0.2" mass="0" pos="1 0 0"/>')),
    ("what touches nothing weighs", geom('size="0.1" contype="0" conaffinity="0"')),
    ("a size of a class", geom("", '<default><geom type="box" size="0.1 0.2 0.3"/></default>')),
    ("sizes of which some are a class's", geom('size="0.4"', '<default><geom type="box" size="0.1 0.2 0.3"/></default>')),
    ("inertial before geoms", body(BALL + '<inertial pos="0.1 0 0" mass="3" diaginertia="1 2 2.5"/>')),
    ("inertial turned", body(BALL + '<inertial pos="0.1 0 0" mass="3" diaginertia="1 2 2.5" euler="10 20 30"/>')),
    ("fullinertia", body(BALL + '<inertial pos="0.1 0 0" mass="3" fullinertia="1 2 2.5 0.1 0.2 0.3"/>')),
    ("inertiafromgeom true", body(BALL + '<inertial pos="0.1 0 0" mass="3" diaginertia="1 2 2.5"/>', '<compiler inertiafromgeom="true"/>')),
    ("inertiafromgeom false", body(BALL + '<inertial pos="0.1 0 0" mass="3" diaginertia="1 2 2.5"/>', '<compiler inertiafromgeom="false"/>')),
    ("inertiagrouprange", body(BALL + '<geom name="h" size="0.2" group="3"/>', '<compiler inertiagrouprange="0 2"/>')),
    ("boundmass", geom('size="0.01"', '<compiler boundmass="0.5"/>')),
    ("boundinertia", geom('type="box" size="0.1 0.2 0.3"', '<compiler boundinertia="0.9"/>')),
    ("boundmass and boundinertia", geom('type="box" size="0.1 0.2 0.01" euler="10 20 30"', '<compiler boundmass="0.5" boundinertia="0.02"/>')),
    ("settotalmass", joint("", '<compiler settotalmass="3"/>')),
    ("settotalmass after boundmass", joint("", '<compiler settotalmass="30" boundmass="5" boundinertia="0.1"/>')),
    ("balanceinertia", body('<inertial pos="0.1 0 0" mass="3" diaginertia="1 2 5" euler="10 20 30"/>', '<compiler balanceinertia="true"/>')),
    *[(f"a mesh, {attributes or 'as it is'}", geom('type="mesh" mesh="m"', MESH.format(attributes))) for attributes in
      ("", 'inertia="convex"', 'scale="2 1 0.5"', 'scale="-1 1 1"', 'refpos="0.1 0.2 0.3"', 'refquat="1 2 3 4"', 'refpos="0.1 0.2 0.3" refquat="1 2 3 4" scale="1 2 3"')],
    *[(f"a mesh that is open, {rule}", geom('type="mesh" mesh="m"', '<asset><mesh name="m" inertia="' + rule + '''" vertex="0 0 0 1 0 0 0 1 0 0 0 1 0.75 0.5 0.5" face="0 2 1 0 1 3 1 2 4 1 4 3"/></asset>'''))
      for rule in ("legacy", "shell")],
    ("a mesh that is not convex, legacy", geom('type="mesh" mesh="m"', '''<asset><mesh name="m" vertex="0 0 0 3 0 0 3 0.5 0 0.5 0.5 0 0.5 4 0 0 4 0 0 0 1 3 0 1 3 0.5 1 0.5 0.5 1 0.5 4 1 0 4 1"
face="0 2 1 0 3 2 0 5 3 3 5 4 6 7 8 6 8 9 6 9 11 9 10 11 0 1 7 0 7 6 1 2 8 1 8 7 2 3 9 2 9 8 3 4 10 3 10 9 4 5 11 4 11 10 5 0 6 5 6 11"/></asset>''')),
    ("a mesh with a mass", geom('type="mesh" mesh="m" mass="2" pos="0.1 0.2 0.3" euler="10 20 30"', MESH.format(""))),
    ("a mesh of the class", geom('type="mesh" mesh="m"', '<default><mesh scale="2 2 2"/></default>' + MESH.format(""))),
    *[(f"a {kind} fitted", geom(f'type="{kind}" mesh="m"', MESH.format(""))) for kind in ("box", "sphere", "capsule", "cylinder", "ellipsoid")],
    *[(f"a {kind} about a mesh", geom(f'type="{kind}" mesh="m" fitscale="0.9"', '<compiler fitaabb="true"/>' + MESH.format(""))) for kind in ("box", "sphere", "capsule", "cylinder", "ellipsoid")],
    ("gravcomp", body(BALL, of_body='gravcomp="0.6"')),
    # classes
    ("main is of all", joint("", CLASSES)),
    ("a class", joint('class="x"', CLASSES)),
    ("a class in a class", joint('class="y"', CLASSES)),
    ("a class and own attributes", joint('class="y" damping="9"', CLASSES)),
    ("childclass", body('<geom name="g"/><body name="b"><joint name="b"/><geom name="h"/></body>', CLASSES, of_body='childclass="y"')),
    ("childclass in childclass", body('<geom name="g"/><body name="b" childclass="z"><joint name="b"/><geom name="h" size="0.1"/></body>', CLASSES, of_body='childclass="y"')),
    ("a class in childclass", body('<geom name="g"/><body name="b"><joint name="b" class="z"/><geom name="h" class="z" size="0.1"/></body>', CLASSES, of_body='childclass="y"')),
    ("childclass of a frame", body('<frame childclass="y"><geom name="g"/><body name="b"><joint name="b"/><geom name="h"/></body></frame>', CLASSES)),
    ("defaults in two places", joint('class="x"', '<default><default class="x"><joint damping="2"/></default></default><default><joint armature="1"/></default>')),
    # frames
    ("a frame", body('<frame pos="0.1 0.2 0.3" euler="10 20 30"><geom name="g" size="0.1" pos="0.5 0 0"/><joint name="f" axis="0 1 0" pos="0.1 0 0"/></frame>')),
    ("a frame in a frame", body('<frame pos="0.1 0.2 0.3" euler="10 20 30"><frame quat="1 2 3 4"><body name="b" pos="1 0 0"><joint name="b"/><geom name="g" size="0.1"/></body></frame></frame>' + BALL.replace('"g"', '"h"'))),
    ("a frame of the world", '<mujoco><worldbody><frame pos="1 2 3" euler="10 20 30"><body name="a"><freejoint/><geom name="g" size="0.1" pos="1 0 0"/></body></frame></worldbody></mujoco>'),
    # copies
    ("replicate", REPLICATE.format("", "")),
    ("replicate with a separator", REPLICATE.format('sep="_"', "")),
    ("replicate, capital euler", REPLICATE.format("", '<compiler eulerseq="XYZ"/>')),
    ("replicate in replicate", body(BALL + '<replicate count="2" offset="0 1 0" sep="-"><replicate count="3" euler="0 0 20" offset="1 0 0"><body name="b"><joint name="j" range="-1 2"/><geom name="h" size="0.1" pos="2 0 0"/></body></replicate></replicate>')),
    ("ten copies of a geom", body(BALL + '<replicate count="10" offset="0.1 0 0.3"><geom name="h" size="0.1" pos="2 0 0"/></replicate>')),
    # what touches
    ("all touch", pair()),
    ("contype alone", pair(x='contype="2" conaffinity="2"')),
    ("contype of one, affinity of the other", pair(x='contype="2" conaffinity="1"')),
    ("affinity of one alone", pair(x='contype="0"', floor='contype="2"')),
    ("none", pair(x='contype="0" conaffinity="0"')),
    ("exclude", pair(after='<contact><exclude body1="x" body2="y"/></contact>')),
    ("exclude the world", pair(after='<contact><exclude body1="x" body2="world"/></contact>')),
    ("a pair whatever their types", pair(x='contype="0" conaffinity="0"', after='<contact><pair geom1="x" geom2="y" friction="3"/></contact>')),
    ("a pair beside exclude", pair(after='<contact><exclude body1="x" body2="y"/><pair geom1="y" geom2="x"/></contact>')),
    ("a pair has its own friction, 1", pair(x='friction="0.3"', y='friction="0.2"', after='<contact><pair geom1="x" geom2="y"/></contact>')),
    ("a pair of a class", pair(before='<default><pair friction="0.3 0.3"/></default>', after='<contact><pair geom1="x" geom2="y"/></contact>')),
    ("a pair has its own condim, 3", pair(x='condim="1"', y='condim="1"', after='<contact><pair geom1="x" geom2="y"/></contact>')),
    ("condim of a pair", pair(after='<contact><pair geom1="x" geom2="y" condim="1"/></contact>')),
    ("contact disabled", pair(before='<option><flag contact="disable"/></option>')),
    ("constraint disabled", pair(before='<option><flag constraint="disable"/></option>')),
    ("a body and its parent", tree()),
    ("a body and its parent, two joints", tree(child_joint='<joint name="c" axis="0 1 0"/><joint name="c2" axis="1 0 0"/>')),
    ("a body that is fixed to another", tree(fixed='<body name="e"><geom name="e" size="0.21"/></body>')),
    ("a body that is fixed to one that is", tree(fixed='<body name="e"><body name="e2"><geom name="e" size="0.21"/></body></body>')),
    ("no joint", tree(child_joint="")),
    # friction
    ("friction is 1", pair()),
    ("the larger one", pair(floor='friction="0.2"', x='friction="0.3"', y='friction="0.1"')),
    ("of higher priority", pair(floor='friction="0.2" priority="1"', x='friction="0.3"', y='friction="0.1" priority="2"')),
    ("of a negative priority", pair(floor='friction="0.2"', x='friction="0.3" priority="-1"')),
    ("condim 1 of both", pair(floor='condim="1"', x='condim="1"')),
    ("condim 1 of one", pair(floor='condim="1"')),
    ("condim 1 of higher priority", pair(floor='condim="1" priority="1"')),
    ("condim 4 and 6", pair(floor='condim="4"', x='condim="6"', y='condim="1"')),
    ("torsional friction of the larger", pair(floor='condim="4" friction="0.2 0.01 0.02"', x='friction="0.3 0.02 0.01"', y='friction="0.1 0.003"')),
    ("rolling friction of the larger", pair(floor='condim="6" friction="0.2 0.01 0.02"', x='friction="0.3 0.02 0.01"', y='condim="4"')),
    ("of higher priority, condim 4", pair(floor='condim="6" friction="0.2 0.01 0.02"', x='priority="1" condim="4"', y='friction="1 2 3"')),
    ("condim 6 of a pair", pair(x='condim="1"', after='<contact><pair geom1="x" geom2="y" condim="6" friction="0.5 0.5 0.1 0.2 0.2"/></contact>')),
    ("condim 4 of a pair", pair(after='<contact><pair geom1="x" geom2="y" condim="4" friction="0.5 0.5 0.1 0.2 0.3"/></contact>')),
    ("condim 6 of a pair has defaults", pair(after='<contact><pair geom1="x" geom2="y" condim="6"/></contact>')),
    ("a height field", pair(before='<asset><hfield name="h" nrow="2" ncol="3" size="3 3 0.1 1" elevation="0 1 2 3 4 5"/></asset>').replace('type="plane" size="3 3 1"', 'type="hfield" hfield="h"')),
    # options
    ("options", joint("", '<option timestep="0.005" gravity="1 2 -3" density="1.2" viscosity="0.3" wind="1 0 2"/>')),
    ("two options", joint("", '<option timestep="0.005"/><option gravity="0 0 -1"/>')),
    ("no gravity", joint("", '<option><flag gravity="disable"/></option>')),
    # tendons
    ("a tendon's laws", drive('<motor tendon="t"/>', '<default><tendon range="-1 2" stiffness="3" damping="4" frictionloss="5"/></default>')),
    ("through space: straight", rope(sites("w", "tip"))),
    ("through space: three sites", rope(sites("w", "up", "tip"))),
    ("through space: within a body", rope(sites("w", "up", "down", "tip", "end"))),
    ("through space: a ball", rope(sites("w", "ball", "tip"))),
    ("through space: a ball's side", rope(sites("w", "ball:up", "tip"))),
    ("through space: a ball's other side", rope(sites("w", "ball:down", "tip"))),
    ("through space: through a ball", rope(sites("w", "ball:middle", "tip"))),
    ("through space: a rod", rope(sites("up", "rod", "tip"))),
    ("through space: a rod's side", rope(sites("up", "rod:over", "end"))),
    ("through space: through a rod", rope(sites("up", "rod:ring", "end"))),
    ("through space: a ball, a rod", rope(sites("w", "ball:up", "up", "rod:over", "tip", "end"))),
    ("through space: pulleys", rope(sites("w", "up", "2", "low", "ball", "tip", "0.5", "down", "end"))),
    ("through space: a pulley first", rope(sites("3", "w", "tip"))),
    ("through space: laws", rope(sites("w", "ball", "tip"), 'range="0.1 2" stiffness="3" damping="4" frictionloss="5" springlength="0.3"')),
    ("through space: slack", rope(sites("w", "tip"), 'stiffness="3" springlength="0.3 0.5"')),
    ("through space: rests where its joints' springs do", rope(sites("w", "tip"), 'stiffness="3"', joints='springref="20" ref="5"')),
    ("through space: a servo", rope(sites("w", "ball", "tip"), 'range="0.2 2"', '<actuator><position tendon="t" kp="7" dampratio="0.8" gear="2" inheritrange="1"/></actuator>')),
    ("through space: a bound of actuators", rope(sites("w", "tip"), 'actuatorfrcrange="-2 3"', '<actuator><motor tendon="t" forcerange="-2 3"/></actuator>')),
    ("through space: tied to its start", rope(sites("w", "tip"), after='<equality><tendon tendon1="t" polycoef="0.1"/></equality>', joints='ref="20"')),
    ("through space: tied to joints", rope(sites("w", "tip"), joints='ref="20"', after="""<tendon><fixed name="s"><joint joint="b" coef="3"/><joint joint="a" coef="1"/></fixed></tendon>
<equality><tendon tendon1="t" tendon2="s" polycoef="0.1 2 0.3 0.01 0.02"/></equality>""")),
    ("armature and damping of an actuator", drive('<motor joint="b" gear="3" armature="0.5" damping="0.7"/><position joint="b" kp="2" armature="0.1"/>')),
    ("damping of a tendon's actuator", drive('<motor tendon="t" gear="3" damping="0.7"/>', '<default><motor armature="0"/></default>')),
    ("a compiler's lengthrange", drive('<motor tendon="t"/>', '<compiler><lengthrange mode="none"/></compiler><default><texture type="2d"/></default>')),
    ("a slack spring", drive('<motor tendon="t"/>', '<default><tendon stiffness="3" springlength="0.4 0.6"/></default>')),
    ("a tendon rests where its joints' springs do", drive('<motor tendon="t"/>', '<default><tendon stiffness="3"/></default>', 'springref="20" ref="5"')),
    ("springlength", drive('<motor tendon="t"/>', '<default><tendon stiffness="3" springlength="0.4"/></default>')),
    # actuators
    ("a motor", drive('<motor joint="b"/>')),
    ("gear", drive('<motor joint="b" gear="-5 0 0 0 0 0"/>')),
    ("ctrlrange", drive('<motor joint="b" ctrlrange="-1 2"/>')),
    ("ctrllimited false", drive('<motor joint="b" ctrlrange="-1 2" ctrllimited="false"/>')),
    ("ctrllimited true", drive('<motor joint="b" ctrlrange="-1 2" ctrllimited="true"/>', '<compiler autolimits="false"/>', "")),
    ("clampctrl disabled", drive('<motor joint="b" ctrlrange="-1 2"/>', '<option><flag clampctrl="disable"/></option>')),
    ("forcerange", drive('<motor joint="b" forcerange="-1 2"/>')),
    ("position", drive('<position joint="b"/>')),
    ("position, kp", drive('<position joint="b" kp="7"/>')),
    ("position, kp and kv", drive('<position joint="b" kp="7" kv="2"/>')),
    ("position, dampratio", drive('<position joint="b" kp="7" dampratio="0.8" gear="3"/>')),
    ("position, dampratio, with what hangs on it", drive('<position joint="a" kp="7" dampratio="0.8"/>', joints='axis="0 1 0"')),
    ("1 of biasprm is a dampratio", drive('<general joint="b" gainprm="16" biastype="affine" biasprm="0 -16 1"/>')),
    ("position of a tendon, dampratio", drive('<position tendon="t" kp="7" dampratio="0.8"/>')),
    ("position, inheritrange", drive('<position joint="b" inheritrange="1"/>')),
    ("position, half of the range", drive('<position joint="b" inheritrange="0.5"/>')),
    ("velocity", drive('<velocity joint="b"/>')),
    ("velocity, kv", drive('<velocity joint="b" kv="3" gear="2"/>')),
    ("general", drive('<general joint="b"/>')),
    ("general, gainprm alone", drive('<general joint="b" gainprm="4"/>')),
    ("general, biasprm without biastype", drive('<general joint="b" gainprm="4" biasprm="1 -2 -3"/>')),
    ("general, affine", drive('<general joint="b" gainprm="4" biastype="affine" biasprm="1 -2 -3"/>')),
    ("general, of an affine gain that is fixed", drive('<general joint="b" gaintype="affine" gainprm="4 0 0"/>')),
    ("general of a tendon", drive('<general tendon="t" gainprm="4" biastype="affine" biasprm="1 -2 -3"/>')),
    ("gains of a class", drive('<position joint="b"/><position joint="a" kp="9"/>', '<default><position kp="50" kv="4"/></default>')),
    ("a motor in the class of positions", drive('<motor joint="b"/>', '<default><position kp="50" kv="4"/></default>')),
    *[(f"gains of a class: {i}", drive(text, f"<default>{default}</default>")) for i, (default, text) in enumerate([
        ('<velocity kv="3"/>', '<position joint="b"/>'), ('<velocity kv="3"/>', '<general joint="b"/>'), ('<velocity kv="3"/>', '<motor joint="b"/>'),
        ('<position kp="50" kv="4"/>', '<position joint="b" kv="3"/>'), ('<position kp="50" kv="4"/><velocity kv="7"/>', '<velocity joint="b"/>'),
        ('<velocity kv="7"/><position kp="50"/>', '<velocity joint="b"/>'), ('<general gainprm="50"/>', '<velocity joint="b"/>'),
        ('<position kp="50" kv="4"/><general/>', '<velocity joint="b"/>'), ('<position kp="50" kv="4"/><motor/>', '<position joint="b"/>'),
        ('<position kp="50" dampratio="1"/>', '<position joint="b"/>'), ('<position kp="50" kv="4" ctrlrange="0 1"/>', '<velocity joint="b"/>'),
        ('<position inheritrange="1"/>', '<motor joint="b"/>'), ('<position inheritrange="1"/>', '<velocity joint="b"/>'),
        ('<position inheritrange="1"/><motor ctrlrange="-7 7"/>', '<motor joint="b"/>'), ('<position inheritrange="1"/>', '<general joint="b" ctrlrange="-6 6"/>'),
        ('<position inheritrange="1"/>', '<position joint="b" ctrlrange="-7 7"/>')])],
    ("a velocity in the class of positions", drive('<velocity joint="b"/>', '<default><position kp="50" kv="4"/></default>')),
    ("a general in the class of positions", drive('<general joint="b"/>', '<default><position kp="50" kv="4"/></default>')),
    ("a position in the class of generals", drive('<position joint="b"/>', '<default><general gainprm="50" biastype="affine" biasprm="0 -50 -4"/></default>')),
    ("jointinparent of a hinge", drive('<motor jointinparent="b" gear="2"/>')),
    ("a site", body('<geom name="g" size="0.1" pos="0.1 0.2 0"/><site name="s" pos="0.3 0 0.1" euler="10 20 30"/>', after='<actuator><motor site="s" gear="1 2 3 0.1 0.2 0.3" ctrlrange="0 3"/></actuator>')),
    ("a site in a frame", body('<geom name="g" size="0.1"/><frame pos="0.1 0 0" euler="0 0 40"><site name="s" pos="0.3 0 0.1" zaxis="1 0 1"/></frame>', after='<actuator><general site="s" gear="0 0 1 0 0 0.1" gainprm="3"/></actuator>')),
    # activations
    ("position, timeconst", drive('<position joint="b" kp="7" timeconst="0.3"/>')),
    ("position, timeconst 0", drive('<position joint="b" kp="7" timeconst="0"/>')),
    ("general, integrator", drive('<general joint="b" dyntype="integrator" actrange="-1 2" ctrlrange="-3 3"/>')),
    ("general, filter", drive('<general joint="b" dyntype="filter" dynprm="0.2" gainprm="3"/>')),
    ("general, filterexact, early", drive('<general joint="b" dyntype="filterexact" dynprm="0.2" actearly="true"/>')),
    ("general, a filter's time is 1", drive('<general joint="b" dyntype="filter"/>')),
    ("general, actlimited false", drive('<general joint="b" dyntype="integrator" actrange="-1 2" actlimited="false"/>')),
    ("general, a gain by length and rate", drive('<general joint="b" gaintype="affine" gainprm="4 -2 -1" ctrlrange="0 3"/>')),
    ("intvelocity", drive('<intvelocity joint="b" kp="7" kv="0.5" actrange="-1 2"/>')),
    ("intvelocity without a range", drive('<intvelocity joint="b" kp="7"/>')),
    ("intvelocity, actlimited false", drive('<intvelocity joint="b" kp="7" actrange="-1 2" actlimited="false"/>')),
    ("intvelocity, dampratio", drive('<intvelocity joint="b" kp="7" dampratio="0.8" actrange="-1 2"/>')),
    ("intvelocity, inheritrange", drive('<intvelocity joint="b" kp="7" inheritrange="0.5"/>')),
    ("damper", drive('<damper joint="b" kv="3" ctrlrange="0 2"/>')),
    ("cylinder", drive('<cylinder joint="b" timeconst="0.2" area="3" bias="1 -2 -3"/>')),
    ("cylinder, diameter", drive('<cylinder tendon="t" diameter="0.3"/>')),
    ("cylinder, as it is", drive('<cylinder joint="b"/>')),
    ("muscle", drive('<muscle tendon="t" lengthrange="-1 2"/>')),
    ("muscle of a joint", drive('<muscle joint="b" lengthrange="-1 2" force="30" timeconst="0.02 0.05" tausmooth="0.1" range="0.6 1.2" lmin="0.4" lmax="1.7" vmax="2" fpmax="1.1" fvmax="1.4"/>')),
    ("muscle beside a general one in a class", drive('<muscle joint="a" lengthrange="-1 2" force="-1"/><muscle joint="b" lengthrange="-1 2"/>', '<default><muscle force="30" vmax="3"/><general dyntype="muscle" gaintype="muscle"/></default>')),
    ("muscle, scale", drive('<muscle joint="a" gear="0.5" lengthrange="-1 2" scale="300"/>')),
    ("general muscle", drive('<general joint="b" dyntype="muscle" gaintype="muscle" biastype="muscle" lengthrange="-1 2" dynprm="0.02 0.05" gainprm="0.7 1.1 20 200 0.5 1.6 1.5 1.3 1.2" biasprm="0.7 1.1 20 200 0.5 1.6 1.5 1.3 1.2" ctrlrange="0 1"/>')),
    ("general muscle that does not resist", drive('<general joint="b" gaintype="muscle" lengthrange="-1 2" gainprm="0.7 1.1 20 200 0.5 1.6 1.5 1.3 1.2"/>')),
    *[(f"activations of a class: {i}", drive(text, f"<default>{default}</default>")) for i, (default, text) in enumerate([
        ('<position kp="50" timeconst="0.1"/>', '<position joint="b"/>'), ('<position kp="50" timeconst="0.1"/>', '<velocity joint="b"/>'),
        ('<position kp="50" timeconst="0.1"/>', '<motor joint="b"/>'), ('<position kp="50" timeconst="0.1"/>', '<general joint="b"/>'),
        ('<general dyntype="filter" dynprm="0.2"/>', '<motor joint="b"/>'), ('<general dyntype="filter" dynprm="0.2"/>', '<position joint="b" kp="3"/>'),
        ('<general dyntype="filter" dynprm="0.2"/>', '<velocity joint="b"/>'), ('<general dyntype="filter" dynprm="0.2" gainprm="4"/>', '<cylinder joint="b"/>'),
        ('<intvelocity kp="5" actrange="-1 1"/>', '<intvelocity joint="b"/>'), ('<intvelocity kp="5"/>', '<position joint="b"/>'),
        ('<intvelocity kp="5" actrange="-1 1"/>', '<general joint="b" gainprm="3"/>'), ('<damper kv="5" ctrlrange="0 1"/>', '<damper joint="b"/>'),
        ('<damper kv="5" ctrlrange="0 1"/>', '<general joint="b"/>'), ('<damper kv="5" ctrlrange="0 1"/>', '<motor joint="b"/>'), ('<position kp="5" kv="3"/>', '<cylinder joint="b"/>'),
        ('<cylinder area="5" timeconst="0.3"/>', '<cylinder joint="b"/>'), ('<cylinder area="5" timeconst="0.3"/>', '<position joint="b"/>'),
        ('<muscle force="5" timeconst="0.02 0.03"/>', '<muscle joint="b" lengthrange="0 1"/>'), ('<muscle force="5" timeconst="0.02 0.03"/>', '<motor joint="b"/>'),
        ('<position kp="5" timeconst="0.3"/>', '<muscle joint="b" lengthrange="0 1"/>'), ('<general gainprm="5" biasprm="1 2 3"/>', '<muscle joint="b" lengthrange="0 1"/>'),
        ('<general dynprm="0.2"/>', '<muscle joint="b" lengthrange="0 1"/>'), ('<position inheritrange="1"/>', '<intvelocity joint="b" actrange="-6 6"/>')])],
    ("a disabled group", drive('<motor joint="b" group="2"/><motor joint="a"/>', '<option actuatorgroupdisable="1 3"/>')),
    ("activations of a key", drive('<motor joint="a"/><position joint="b" timeconst="0.1"/><intvelocity joint="a" actrange="-1 1"/>').replace("</mujoco>", '<keyframe><key act="0.3 0.4"/><key/></keyframe></mujoco>')),
    # equalities
    ("connect", tree(after='<equality><connect body1="p" body2="d" anchor="0.1 0.2 0.3"/></equality>')),
    ("connect to the world", tree(after='<equality><connect body1="d" anchor="0.1 0.2 0.3"/></equality>')),
    ("weld", tree(after='<equality><weld body1="p" body2="d"/></equality>')),
    ("weld, relpose", tree(after='<equality><weld body1="p" body2="d" relpose="0.1 0.2 0.3 1 2 3 4" anchor="0.1 0 0"/></equality>')),
    ("a joint of another", tree(after='<equality><joint joint1="d" joint2="c" polycoef="0.1 2 3 0.4 0.5"/></equality>')),
    ("a joint of another, refs", joint('ref="20"', after='<equality><joint joint1="a" joint2="b" polycoef="0.1 2 3 0.4 0.5"/></equality>')),
    ("a joint of itself", joint('ref="20"', after='<equality><joint joint1="b" polycoef="0.1 2 3 0.4 0.5"/></equality>')),
    ("a joint of another is as it", joint("", after='<equality><joint joint1="a" joint2="b"/></equality>')),
    ("an equality that is not active", joint("", after='<equality><joint joint1="a" joint2="b" active="false"/></equality>')),
    ("a class that is not active", joint("", '<default><equality active="false"/></default>', '<equality><joint joint1="a" joint2="b"/><connect body1="b" anchor="0.1 0 0" active="true"/></equality>')),
    ("a tendon of its start", drive("", joints='ref="20"').replace("</mujoco>", '<equality><tendon tendon1="t" polycoef="0.1"/></equality></mujoco>')),
    ("a tendon of another", joint('ref="20"', after="""<tendon><fixed name="t"><joint joint="a" coef="0.5"/></fixed><fixed name="s"><joint joint="b" coef="3"/>
<joint joint="a" coef="1"/></fixed></tendon><equality><tendon tendon1="t" tendon2="s" polycoef="0.1 2"/></equality>""")),
    # keyframes
    ("a key of nothing", joint('ref="20"', after='<actuator><motor joint="b"/></actuator><keyframe><key/></keyframe>')),
    ("a key", joint('ref="20"', after='<actuator><motor joint="b"/></actuator><keyframe><key name="k" qpos="1 2" qvel="3 4" ctrl="5"/><key qvel="1 1"/></keyframe>')),
    ("a key of a free body", pair(after='<keyframe><key qpos="0 0 1 2 0 0 0 3 0 1 1 1 0 0"/></keyframe>')),
]

WRONG = [
    ("through space: one site", rope(sites("w"))),
    ("through space: a ball at the end", rope(sites("w", "tip", "ball"))),
    ("through space: two balls in a row", rope(sites("w", "ball", "rod", "tip"))),
    ("through space: a pulley at the end", rope(sites("w", "tip", "2"))),
    ("through space: a site that is not there", rope(sites("w", "nowhere"))),
    ("through space: around a box", rope('<site site="w"/><geom geom="gb"/><site site="tip"/>')),
    ("through space: no divisor", rope('<site site="w"/><site site="tip"/><pulley divisor="0"/><site site="w"/><site site="end"/>')),
    ("a range that is not said to hold", joint('range="-1 1"', '<compiler autolimits="false"/>')),
    ("a class that is not there", joint('class="nowhere"')),
    ("a class twice", joint("", '<default><default class="x"/><default class="x"/></default>')),
    ("no size", geom("")),
    ("a size of 0", geom('size="0"')),
    ("too few sizes", geom('type="box" size="0.1 0.2"')),
    ("a quaternion of 0", geom('size="0.1" quat="0 0 0 0"')),
    ("two rotations", body(BALL, of_body='quat="1 0 0 0" euler="1 2 3"')),
    ("an axis of 0", joint('axis="0 0 0"')),
    ("inertias that no body has", body('<inertial pos="0 0 0" mass="3" diaginertia="1 2 5"/>')),
    ("no mass", '<mujoco><worldbody><body name="a"><joint/></body></worldbody></mujoco>'),
    ("inertiafromgeom false without inertial", geom('size="0.1"', '<compiler inertiafromgeom="false"/>')),
    ("an inertial without mass", body('<inertial pos="0 0 0" diaginertia="1 1 1"/>')),
    ("an eulerseq of two", geom('size="0.1"', '<compiler eulerseq="xy"/>')),
    ("an attribute that is not known", joint('colour="1"')),
    ("an element that is not known", body(BALL + "<wheel/>")),
    ("a word that is not known", joint('type="screw"')),
    ("a free joint in a child", joint('type="free"')),
    ("fromto without length", geom('type="capsule" size="0.1" fromto="1 1 1 1 1 1"')),
    ("a plane that moves", geom('type="plane" size="1 1 1"')),
    ("a mesh that is not there", geom('type="mesh" mesh="x"')),
    ("a mesh of three points", geom('type="mesh" mesh="m"', '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0"/></asset>')),
    ("an exclude of nobody", pair(after='<contact><exclude body1="x" body2="z"/></contact>')),
    ("a pair of nobody", pair(after='<contact><pair geom1="x" geom2="z"/></contact>')),
    ("two sites of one name", body(BALL + '<site name="s"/><site name="s"/>')),
    ("two actuators of one name", drive('<motor name="m" joint="a"/><motor name="m" joint="b"/>')),
    ("ctrlrange and inheritrange", drive('<position joint="b" ctrlrange="-1 1" inheritrange="1"/>')),
    ("an actuator of nobody", drive('<motor joint="z"/>')),
    ("an actuator of nothing", drive("<motor/>")),
    ("a coupling of nobody", joint("", after='<equality><joint joint1="z"/></equality>')),
    ("two bodies of one name", '<mujoco><worldbody><body name="a"><joint/><geom size="1"/></body><body name="a"><joint/><geom size="1"/></body></worldbody></mujoco>'),
    ("two joints of one name", joint('name="a"').replace('name="b" name="a"', 'name="a"')),
    ("two geoms of one name", body(BALL + BALL)),
    ("a damper that pushes", drive('<damper joint="b" kv="-3" ctrlrange="0 2"/>')),
    ("a damper whose control may be below 0", drive('<damper joint="b" kv="3" ctrlrange="-1 2"/>')),
    ("a damper without a range", drive('<damper joint="b" kv="3"/>')),
    ("intvelocity with two ranges", drive('<intvelocity joint="b" kp="3" inheritrange="1" actrange="-1 1"/>')),
    ("activations of a key that are too many", drive('<motor joint="a"/>').replace("</mujoco>", '<keyframe><key act="0.3"/></keyframe></mujoco>')),
    ("condim 2", geom('size="0.1" condim="2"')),
]
